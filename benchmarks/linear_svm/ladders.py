"""Tools that climb their ladders of tolerances in turn, until the objective is near enough to the best known."""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from linear_svm.children import Child
from linear_svm.stops import COARSE, FINE, Stop
from linear_svm.tool import Tool
from linear_svm.turns import Timing, our_timing, take_turns
from measure import back_and_forth
from suite import Run, Settings

REFERENCE_TOLERANCE = 1e-8
# A ladder ends a little below the finest distance, because the best known objective may still become better.
NEAR_ENOUGH = 0.9 * FINE
# Above this, the best known objective is too uncertain a measure for the finer distance.
UNCERTAIN = 0.1 * FINE
# A rival that is slower than the fastest one by more than this is neither waited for nor run again.
WORTH_WAITING_FOR = 2.0
SHORTEST_WAIT = 1.0


@dataclass
class Race:
    """What all tools did on one row. The first ladder is ours."""

    data: str
    C: float
    cap: float
    reference: Run
    ladders: dict[str, list[Timing]]
    failures: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)  # those that had not come near by the cap

    @property
    def ours(self) -> str:
        """The name of our own ladder."""
        return next(iter(self.ladders))

    @property
    def best(self) -> float:
        """The best known objective."""
        reached = [timing.result["objective"] for ladder in self.ladders.values() for timing in ladder]
        return min([self.reference.result["objective"], *reached])

    @property
    def uncertainty(self) -> float:
        """How far the best known objective can be from the optimum, by our best proof."""
        proven = max([self.reference.result["dual"], *(timing.result["dual"] for timing in self.ladders[self.ours])])
        return (self.best - proven) / self.best

    @property
    def is_certain(self) -> bool:
        """Whether the best known objective is good enough a measure for the finer distance."""
        return self.uncertainty <= UNCERTAIN

    @property
    def good_enough(self) -> float:
        """The objective at which a ladder ends; none, where the best one is not known well."""
        return self.best * (1.0 + NEAR_ENOUGH) if self.is_certain else -math.inf

    @property
    def worth_waiting(self) -> float:
        """The seconds after which a run can no longer be the best rival's."""
        rival = self.fastest_rival(FINE) if self.is_certain else None
        return self.cap if rival is None else max(SHORTEST_WAIT, WORTH_WAITING_FOR * rival[1].seconds)

    def distance(self, timing: Timing) -> float:
        """The relative distance from the best known objective."""
        return (timing.result["objective"] - self.best) / self.best

    def fastest(self, name: str, within: float) -> Timing | None:
        """The fastest of a tool's runs that came so near; none of ours where we cannot prove what the best is."""
        if name == self.ours and self.uncertainty > within:
            return None
        near = [timing for timing in self.ladders.get(name, ()) if self.distance(timing) <= within]
        return min(near, key=lambda timing: timing.seconds, default=None)

    def fastest_rival(self, within: float) -> tuple[str, Timing] | None:
        """The rival that came so near first, and its run."""
        found = ((name, self.fastest(name, within)) for name in self.ladders if name != self.ours)
        near = [(name, timing) for name, timing in found if timing is not None]
        return min(near, key=lambda pair: pair[1].seconds, default=None)

    def ratio(self, within: float) -> float | None:
        """The best rival's time divided by ours, with the cap for whoever did not come so near; None for nobody."""
        ours, rival = self.fastest(self.ours, within), self.fastest_rival(within)
        if ours is None and rival is None:
            return None
        return (self.cap if rival is None else rival[1].seconds) / (self.cap if ours is None else ours.seconds)


class Ladder:
    """A tool on its way through its tolerances."""

    def __init__(self, child: Child, timings: list[Timing]) -> None:
        self.child = child
        self.rungs: list[Timing] = []
        self._left = timings

    @property
    def at_its_end(self) -> bool:
        """Whether there is nothing more to try."""
        return not self._left or self.child.failure is not None

    def climb(self, good_enough: float, cap: float) -> None:
        """Run once with the next tolerance; it is the last one where the objective is good enough."""
        timing = self._left.pop(0)
        timing.cap = min(timing.cap, cap)
        if timing.run():
            self.rungs.append(timing)
            if timing.result["objective"] <= good_enough:
                self._left.clear()


class OurLadder(Ladder):
    """Our own, which is not hurried, and ends where a tolerance is not proven in time."""

    def climb(self, good_enough, _cap):
        """Run once with the next tolerance."""
        super().climb(good_enough, math.inf)
        if self.rungs and not self.rungs[-1].proven:
            self._left.clear()


def race(name: str, data: dict[str, Any], C: float, tools: Sequence[Tool], options: Settings) -> Race:
    """Let all tools climb in turn, then repeat the runs that count. The first tool is ours."""
    cap = options.cap
    with ExitStack() as stack:
        children = [stack.enter_context(Child(tool, data)) for tool in tools]
        ours, *rivals = children
        reference = our_timing(ours, C, REFERENCE_TOLERANCE, cap)
        if not reference.run():
            raise RuntimeError(f"no reference for {name}, C = {C:g}: {ours.failure}")
        ladders: list[Ladder] = [
            OurLadder(ours, [our_timing(ours, C, tolerance, cap) for tolerance in ours.tool.tolerances])
        ]
        ladders += [
            Ladder(rival, [Timing(rival, Stop(C, tolerance), cap) for tolerance in rival.tool.tolerances])
            for rival in rivals
        ]
        found = Race(name, C, cap, reference.runs[0], {ladder.child.tool.name: ladder.rungs for ladder in ladders})
        rounds = 0
        while climbing := [ladder for ladder in ladders if not ladder.at_its_end]:
            for ladder in back_and_forth(climbing, rounds):
                ladder.climb(found.good_enough, found.worth_waiting)
            rounds += 1
        take_turns(runs_that_count(found), options.repeats)
        found.failures = {child.tool.name: child.failure for child in children if child.failure is not None}
        found.given_up = [
            child.tool.name
            for child in rivals
            if child.waited >= cap and found.fastest(child.tool.name, COARSE) is None
        ]
    return found


def runs_that_count(race: Race) -> list[Timing]:
    """For both distances our fastest run, and those of the rivals that may be the best one."""
    counting: list[Timing] = []
    for within in (COARSE, FINE):
        rival = race.fastest_rival(within)
        limit = float("inf") if rival is None else WORTH_WAITING_FOR * rival[1].seconds
        fastest = {name: race.fastest(name, within) for name in race.ladders}
        counting += [
            timing
            for name, timing in fastest.items()
            if timing is not None and timing not in counting and (name == race.ours or timing.seconds <= limit)
        ]
    return counting
