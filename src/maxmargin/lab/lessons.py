"""Twelve lessons: one idea each, with a question before the run is played."""

from dataclasses import dataclass, field
from typing import Any

from maxmargin.lab.state import State, from_preset


@dataclass(frozen=True)
class Lesson:
    """One idea on one data set.

    Attributes
    ----------
    title : str
    idea : str
        What there is to see.
    question : str
        To be answered before "play".
    choices : tuple of str
        Answers to choose from.
    right : int
        The index of the right one.
    answer : str
        Said after the run.
    data, algorithm : str
    parameters : dict
    tool : str
        "hyperplane" or "alpha" where something is to be dragged.
    """

    title: str
    idea: str
    question: str
    choices: tuple[str, ...]
    right: int
    answer: str
    data: str
    algorithm: str
    parameters: dict[str, Any] = field(default_factory=dict)
    tool: str = ""

    @property
    def state(self) -> State:
        """The page that the lesson starts with."""
        return from_preset(self.data, self.algorithm, **self.parameters)


LESSONS = (
    Lesson(
        "How many updates at most?",
        "Each mistake moves w by at least γ along u, but adds at most R² to ||w||²: so mistakes run out.",
        "Read R and γ in the proof panel. How many updates can the perceptron make at most?",
        ("24, one a point", "266, that is (R/γ)²", "there is no limit"), 1,
        "At most (R/γ)²: the two lines of the chart never cross. It usually needs far fewer.",
        "separable", "online",
    ),
    Lesson(
        "What does one update do?",
        "An update adds y x to w: the functional margin of that point grows by ||x||², whatever else happens.",
        "Is a point that was corrected once always correct afterwards?",
        ("yes", "no"), 1,
        "No. Its own margin grows, but later updates for other points may take it back.",
        "separable", "online", {"every_row": True},
    ),
    Lesson(
        "Does the order matter?",
        "The bound holds for every order, but the number of updates and the hyperplane depend on it.",
        "Click the points yourself. Can fewer than the 15 updates of the cyclic order be enough?",
        ("yes", "no, 15 are needed", "no, the order changes nothing"), 0,
        "Yes: points near the boundary teach more. No order needs more than (R/γ)² updates.",
        "separable", "online", {"order": "click"},
    ),
    Lesson(
        "What if no hyperplane exists?",
        "On inseparable data the perceptron never stops, and its mistakes obey another bound, with the deficits of u.",
        "Will the perceptron ever stop here? Look at the marked point, which is in the hulls of both classes.",
        ("yes, after (R/γ)² updates", "no, never"), 1,
        "It oscillates for ever. The two hulls share a point, and no hyperplane can have it on both sides.",
        "both labels", "online",
    ),
    Lesson(
        "Why are small margins hard?",
        "The bound grows with 1/γ²: half the margin may cost four times the updates.",
        "The margin of u is a 67th of R. How large is the bound on the updates?",
        ("67", "134, twice as much", "4488, the square"), 2,
        "4488, against 266 for clouds farther apart. This run needs 22: the bound is for the worst points and order.",
        "tiny margin", "online",
    ),
    Lesson(
        "How to ask for a margin?",
        "The margin perceptron also corrects points that are nearer than half the guess.",
        "Raise the guess. Up to which guess is the run sure to end?",
        ("any guess", "2 γ_opt", "γ_opt"), 2,
        "Up to γ_opt it ends for certain. Up to 2 γ_opt it may; beyond that no hyperplane is good enough.",
        "separable", "margin", {"guess": 0.2},
    ),
    Lesson(
        "What does a forced stop prove?",
        "Start with the guess R and halve it when the run takes more updates than a right guess would allow.",
        "Which margin is certain when the search ends?",
        ("γ_opt", "γ_opt/2", "γ_opt/4"), 2,
        "Every forced stop proves that its guess was larger than γ_opt; so the margin found is at least γ_opt/4.",
        "separable", "search",
    ),
    Lesson(
        "Can you beat the margin?",
        "Two hull points bound the largest margin from above, a hyperplane bounds it from below.",
        "Drag the hyperplane: can you get above the upper bound? Then play, and compare.",
        ("yes, with patience", "no"), 1,
        "Nobody beats half the distance of the hulls; at the optimum the hyperplane bisects the shortest segment.",
        "separable", "hulls", {}, "hyperplane",
    ),
    Lesson(
        "Which points may be deleted?",
        "At the optimum most duals are zero: w is a sum over the support vectors only.",
        "Which points can you erase without changing the hyperplane? Choose, go to the end, then erase some.",
        ("any single point", "those with α = 0", "none"), 1,
        "Those with α = 0. Erasing a support vector changes the hyperplane.",
        "separable", "smo", {"C": float("inf")},
    ),
    Lesson(
        "What does C pay for?",
        "C is the penalty of a unit of slack: large C follows the outlier, small C ignores it for a wider margin.",
        "Slide C from 0.01 to infinity. Which C makes the hyperplane follow the outlier?",
        ("a small one", "a large one", "none: C changes no hyperplane"), 1,
        "When C is small, the outlier's dual sits at C and its pull is bounded; near C = inf it dictates the margin.",
        "outlier", "smo", {"C": 0.1},
    ),
    Lesson(
        "Can a dual value be too large?",
        "Every feasible α gives a lower bound on every primal value: that is the whole certificate.",
        "Play some steps, then drag a bar. Can you make the dual value larger than the primal one?",
        ("yes", "no, never"), 1,
        "No: weak duality. The gap is the most that any other hyperplane could still gain.",
        "overlap", "smo", {"C": 1.0}, "alpha",
    ),
    Lesson(
        "Can a line separate circles?",
        "In the feature space of a kernel the same algorithm draws curves, and the same bound holds.",
        "No line separates these points. Will the kernel perceptron end without a mistake?",
        ("no", "yes, after a few updates", "yes, after thousands of updates"), 1,
        "A few: in the feature space of the RBF kernel there is a hyperplane with a good margin.",
        "circles", "kernel", {"gamma": 1.0},
    ),
)  # fmt: skip
