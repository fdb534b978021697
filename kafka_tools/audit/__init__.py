"""The command `audit`: partition folders of a broker, checked without a broker."""
