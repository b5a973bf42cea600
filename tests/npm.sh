# tests/npm.sh: npm_fetch FOLDER: what its lock file says, into its node_modules, where that is not there.
# To be read by scripts (`. tests/npm.sh`). May touch: npm. On trouble: npm's status.

npm_fetch() {
    cmp -s "$1/package-lock.json" "$1/node_modules/.fetched" && return
    (cd "$1" && npm ci --silent --ignore-scripts --no-audit --no-fund) &&
        cp "$1/package-lock.json" "$1/node_modules/.fetched"
}
