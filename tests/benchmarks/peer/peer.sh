# This service beside others that do the same work: `bench --under-test tests/benchmarks/peer`.
# The harness gives HOST, PORT, DATABASE_URL, PETS and CORES, and runs each function in this folder.
DATABASES="sqlite postgres"
SEED=own

export PYTHONPATH="$PWD/../../.."
export PETSERVICE_DATA_DIR="${TMPDIR:-/tmp}/petservice-peer"
# One for all processes, so that no two of them invent it at once.
export SECRET_KEY=of-a-benchmark
mkdir -p "$PETSERVICE_DATA_DIR"

prepare() {
    python ../../../manage.py migrate --verbosity 0
    python ../../../manage.py shell --verbosity 0 -c "from tests.benchmarks.herd import fill; fill($PETS)"
    python ../../../manage.py create_api_key Benchmark >"$PETSERVICE_DATA_DIR/key-${DATABASE_URL%%:*}"
}

key() { cat "$PETSERVICE_DATA_DIR/key-${DATABASE_URL%%:*}"; }

ids() {
    python ../../../manage.py shell --verbosity 0 -c "
from pets.models import Pet
print(*Pet.objects.values_list('pk', flat=True)[:1000], sep='\n')"
}

# The database is migrated and has an account, so the start prints no secret.
start() { exec python ../../../manage.py serve --bind "127.0.0.1:$PORT"; }
