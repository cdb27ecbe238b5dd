"""The interactive page: algorithms of the lectures step by step, with their proofs in numbers (``maxmargin lab``).

`page` is the page's logic, a function of events without server or browser; `server` serves it on this machine only;
`widget` shows it in a notebook; `replay` writes a recorded run as one HTML file. `static` is the front end, which all
three share. docs/lab.md describes the page.
"""
