"""Tidemark: executable protocol specifications and the engines that check them."""
