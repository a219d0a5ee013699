// Runs the same suites on every backend of the event store, one after the other, and ends with the sum of all: contract, ledger, HTTP, client,
// crash (kill -9 of a ledger process) and many processes at once. PostgreSQL is a server that each test process starts, or that of
// POSTGRES_URL. EventStoreDB is the protocol node in the tests' own process, or with EVENTSTORE_URL set a real server. `--long` runs the long ones; a word narrows to paths or backends that contain it.
//
// Left out is what makes sense for one backend alone: a file's faults (a full disk, failing syncs, the owner's lock, crash images, tampering
// with rows), a server's (lost answers, cut connections, retention), and what has no store at all.
import { runFiles, slowestLine, sumLine, testFiles } from './run-files.mjs'

/** Beginnings of paths below `dist/test/`. */
const ON_EVERY_STORE = ['ledger/', 'http/', 'client/', 'webhooks/', 'system/contention.']
const AFTER_KILL = ['system/kill.']

const STORES = [
  // Nothing of it outlives its process: there is nothing to kill for.
  { name: 'memory', suites: ['store/memory.', ...ON_EVERY_STORE] },
  // A file has one writer, which its lock sees to.
  { name: 'sqlite', suites: ['store/sqlite.', ...ON_EVERY_STORE, ...AFTER_KILL], without: ['ledger/two-writers.'] },
  { name: 'postgres', suites: ['store/postgres.', ...ON_EVERY_STORE, ...AFTER_KILL] },
  process.env.EVENTSTORE_URL ? realServer() : protocolNode(),
]

function protocolNode() {
  return { name: 'eventstoredb', suites: ['store/eventstoredb.', ...ON_EVERY_STORE, ...AFTER_KILL] }
}

/** It keeps everything and has one identity: the ledger's own suites, which found a ledger with new keys for each test, want an empty store. */
function realServer() {
  return { ...protocolNode(), shown: 'eventstoredb, the server of EVENTSTORE_URL', without: ['ledger/', 'webhooks/'] }
}

const long = process.argv.includes('--long')
const words = process.argv.slice(2).filter((word) => word !== '--long')
const all = testFiles({ long })
/** A server is asked over the network what memory answers at once. */
const timeoutMs = (long ? 30 : 5) * 60_000
const total = { passed: 0, failed: 0, skipped: 0, files: [] }
let found = 0
for (const { name, shown = name, suites, without = [] } of STORES) {
  const isAmong = (file, beginnings) => beginnings.some((beginning) => file.startsWith(beginning))
  const files = all
    .filter((file) => isAmong(file, suites) && !isAmong(file, without))
    .filter((file) => words.every((word) => `${name} ${file}`.includes(word)))
  if (files.length === 0) continue
  found += files.length
  console.log(`store: ${shown}`)
  const sum = await runFiles(files, { timeoutMs, env: { COUNTERSIGN_TEST_STORE: name } })
  for (const key of ['passed', 'failed', 'skipped']) total[key] += sum[key]
  total.files.push(...sum.files.map(({ file, ...rest }) => ({ file: `${name} ${file}`, ...rest })))
  console.log(`store: ${shown}: ${sumLine(sum)}\n`)
}
if (found === 0) {
  console.error('no test file matches')
  process.exitCode = 1
}
console.log(slowestLine(total))
console.log(sumLine(total))
if (total.failed > 0) process.exitCode = 1
