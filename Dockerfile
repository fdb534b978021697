# An image with Tidemark, PySpark and Java for a driver (docs/stores.md).
FROM python:3.11-slim-bookworm

# Slim images lack the folder, without which the package of Java cannot be configured.
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless tini \
    && rm -rf /var/lib/apt/lists/*

COPY . /opt/tidemark
RUN pip install --no-cache-dir '/opt/tidemark[spark]'

ENTRYPOINT ["tini", "--", "tidemark"]
