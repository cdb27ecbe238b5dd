"""Film reviews."""

from datasets.signed_rows import ImdbTfidf


class FilmReviews(ImdbTfidf):
    """Needs some forty passes, most of them with few mistakes."""

    parts = ("passes", "until_clean", "lazy", "startup")
