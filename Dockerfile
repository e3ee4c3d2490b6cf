# docker build -t allalike .
# docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" allalike discover answers.csv
FROM python:3.13-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip wheel --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
RUN useradd --create-home allalike
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl
USER allalike
WORKDIR /data
ENTRYPOINT ["allalike"]
CMD ["--help"]
