// Runs the same suites on every durable backend of the event store, one after the other, and prints the total: contract, ledger, HTTP, client, crash (kill -9 of
// a ledger process) and many concurrent processes. PostgreSQL is a server that each test process starts, or that of POSTGRES_URL. EventStoreDB is the protocol
// node in the tests' own process, or with EVENTSTORE_URL a real server. `--long` runs the long suites; a word selects paths or backends that contain it. With
// `--shared` most suites share a store on each server, which is filled and which other tests keep writing to (test/support/shared-test-store.ts).
//
// Left out are the store in memory, where `npm test` runs the suites; suites that are meaningful for only one backend: faults of a file (a full disk, failing
// syncs, the owner's lock, crash images, altered rows), faults of a server (lost answers, cut connections, retention); and files that open no store of
// test/support/test-store.ts.
import {
  CONTENTION,
  drawSeed,
  KILL,
  levelOf,
  reaches,
  runFiles,
  SERVERS,
  slowestLine,
  sumLine,
  testFiles,
  testSource,
  wordsOf,
} from './run-files.mjs'

const TEST_STORE = 'support/test-store.js'
/** Prefixes of paths below `dist/test/`. */
const LEDGER = 'ledger/'
const WEBHOOKS = 'webhooks/'
const OF_LEDGERS = [LEDGER, 'http/', 'client/']
const ON_EVERY_STORE = [...OF_LEDGERS, WEBHOOKS, CONTENTION]
const AFTER_KILL = [KILL]
/** SQLite is where scripts/test.mjs runs it. */
const KILLED_WORKERS = 'agent/workers/killed-workers.'

const level = levelOf(process.argv)
/** Whether tests share a filled store per server, instead of having one each. */
const isShared = process.argv.includes('--shared')
const words = wordsOf(process.argv.slice(2), ['--shared'])
const all = testFiles({ level }).filter((file) => !isOfLedger(file) || reaches(file, TEST_STORE))

/** Suites of ledgers that cannot use a shared store, each with the reason. */
const UNSHARED = Object.fromEntries(
  all
    .filter(isOfLedger)
    .map((file) => [file, whyUnshared(testSource(file))])
    .filter(([, why]) => why !== undefined),
)

function isOfLedger(file) {
  return OF_LEDGERS.some((beginning) => file.startsWith(beginning))
}

/** A test that names its own tenant uses `ownTenant`, `freshTenant`, `ownCaller` or the caller `alice`. */
function whyUnshared(source) {
  if (/\b(?:createLedgerKeys|rotate(?!TokenKeys)\w*)\(/.test(source) && !source.includes('rotates: true')) {
    return 'it has keys of its own, or rotates them'
  }
  if (/(?<!(?:ownTenant|freshTenant|ownCaller)\()'acme'|run-acme/.test(source)) return 'it names its tenants itself'
  return undefined
}

/** A real server is always shared by all tests. */
const REAL = process.env.EVENTSTORE_URL ? 'eventstoredb' : undefined

const STORES = [
  {
    name: 'sqlite',
    suites: ['store/sqlite.', ...ON_EVERY_STORE, ...AFTER_KILL],
    leftOut: { 'ledger/two-writers.': 'a file has one writer' },
  },
  server('postgres'),
  REAL === undefined ? server('eventstoredb') : realServer(),
  ...(isShared ? SERVERS.filter((name) => name !== REAL).map(shared) : []),
]

/** Each test has a separate store. */
function server(name) {
  const ofLedgers = isShared && name !== REAL ? Object.keys(UNSHARED) : OF_LEDGERS
  return { name, suites: [`store/${name}.`, ...ofLedgers, WEBHOOKS, CONTENTION, ...AFTER_KILL, KILLED_WORKERS] }
}

function shared(name) {
  const suites = [`store/${name}.`, ...OF_LEDGERS]
  const shown = `${name}, filled and shared by tests`
  return { name, shown, suites, leftOut: UNSHARED, env: { COUNTERSIGN_TEST_SHARED: '1' } }
}

/** A real server keeps everything and has one identity: the ledger's own suites, which found a ledger with new keys in each test, need an empty store. */
function realServer() {
  const leftOut = {
    [LEDGER]: 'it founds ledgers with keys of their own',
    [WEBHOOKS]: 'its tests read a store from its beginning',
  }
  return { ...server('eventstoredb'), shown: 'eventstoredb, the server of EVENTSTORE_URL', leftOut }
}

/** A server answers over the network, which takes longer than memory, and on a filled store each new ledger reads from its start. */
const timeoutMs = { quick: isShared ? 10 : 5, long: 30, soak: 240 }[level] * 60_000
const total = { passed: 0, failed: 0, skipped: 0, files: [] }
let found = 0
drawSeed(level)
for (const { name, shown = name, suites, leftOut = {}, env = {} } of STORES) {
  const isAmong = (file, beginnings) => beginnings.some((beginning) => file.startsWith(beginning))
  const wanted = all
    .filter((file) => isAmong(file, suites))
    .filter((file) => words.every((word) => `${shown} ${file}`.includes(word)))
  const files = wanted.filter((file) => !isAmong(file, Object.keys(leftOut)))
  if (files.length === 0) continue
  found += files.length
  console.log(`store: ${shown}`)
  for (const [beginning, why] of Object.entries(leftOut)) {
    if (wanted.some((file) => file.startsWith(beginning))) console.log(`     left out: ${beginning}: ${why}`)
  }
  const sum = await runFiles(files, { level, timeoutMs, env: { COUNTERSIGN_TEST_STORE: name, ...env } })
  for (const key of ['passed', 'failed', 'skipped']) total[key] += sum[key]
  total.files.push(...sum.files.map(({ file, ...rest }) => ({ file: `${shown} ${file}`, ...rest })))
  console.log(`store: ${shown}: ${sumLine(sum)}\n`)
}
if (found === 0) {
  console.error('no test file matches')
  process.exitCode = 1
}
console.log(slowestLine(total))
console.log(sumLine(total))
if (total.failed > 0) process.exitCode = 1
