"""Two classes in sparse rows."""

from datasets.signed_rows import ImdbTfidf, SignedRows

PARTS = ("race", "choice", "intercept")


class A9a(SignedRows):
    """Incomes above and below a threshold: 32,561 rows of 123 columns, zeros and ones."""

    name = "a9a"
    parts = PARTS


class W8a(SignedRows):
    """Web pages: 49,749 rows of 300 columns, zeros and ones; some rows are empty."""

    name = "w8a"
    parts = PARTS


class Ijcnn1(SignedRows):
    """An engine's misfires: 49,990 rows of 22 columns, a tenth of them positive."""

    name = "ijcnn1"
    parts = PARTS


class FilmReviews(ImdbTfidf):
    """Wide and sparse."""

    parts = PARTS
