# docker build -t allalike .
# docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" allalike discover answers.csv
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml hatch_build.py README.md LICENSE /source/
COPY src /source/src
RUN pip wheel --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/*.whl)[excel,images,report]" && useradd --create-home allalike
USER allalike
WORKDIR /data
ENTRYPOINT ["allalike"]
CMD ["--help"]
