# syntax=docker/dockerfile:1
# Image of Themescope for web servers, workers and the nodes of a Ray cluster; docs/deploy.md explains its use.
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
# The wheels of torch for CPUs; for GPUs, such as https://download.pytorch.org/whl/cu130.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_WAIT_POLICY=PASSIVE
RUN python -m venv /opt/themescope && python -m venv /opt/build
ENV PATH=/opt/themescope/bin:${PATH}
WORKDIR /source
COPY pyproject.toml constraints-cpu.txt README.md LICENSE NOTICE ./
COPY requirements requirements
COPY themescope themescope
COPY core core
COPY db db
COPY jobs jobs
COPY webapp webapp
# All packages have the hashes of requirements/cpu.txt, except torch, whose wheels for CPUs and GPUs differ.
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/build/bin/pip install --require-hashes -r requirements/build.txt \
    && pip install --require-hashes --no-deps -r requirements/cpu.txt \
    && pip install --extra-index-url ${TORCH_INDEX} -c constraints-cpu.txt torch \
    && /opt/build/bin/hatchling build -t wheel -d /dist \
    && pip install --no-deps /dist/*.whl \
    && pip check
# Without it, the first clustering, training and map would each take ten seconds longer. Another processor compiles anew.
RUN cd / && python -m themescope prepare

FROM ${PYTHON_IMAGE}
# pg_dump and pg_restore, for backups; the version of the server in compose.yaml.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client-15 \
    && rm --recursive /var/lib/apt/lists/*
RUN groupadd --gid 10001 themescope \
    && useradd --uid 10001 --gid 10001 --create-home --home-dir /home/themescope themescope \
    && install --directory --owner 10001 --group 10001 /data /backups
COPY --from=build /opt/themescope /opt/themescope
ENV PATH=/opt/themescope/bin:${PATH} \
    THEMESCOPE_HOME=/data \
    THEMESCOPE_LOG_FORMAT=json \
    OMP_WAIT_POLICY=PASSIVE \
    PYTHONUNBUFFERED=1 \
    HEALTH_URL=http://127.0.0.1:8501/healthz
USER 10001:10001
WORKDIR /home/themescope
VOLUME /data /backups
EXPOSE 8501
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(os.environ['HEALTH_URL'], timeout=5)"]
CMD ["python", "-m", "themescope.webapp.server", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true"]
