import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { OWN_PROJECTIONS } from '../../src/verify/server-projections.ts'
import { type CommandResult, countersign } from '../support/command-line.ts'
import { type EventStoreNode, startCluster, startNode } from '../support/eventstoredb-node.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { randomRun } from '../support/random-run.ts'
import { drive } from '../support/run-driver.ts'
import { smallStore } from '../support/small-store.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { freshTenant, SERVER_URL, testStoreKeys } from '../support/test-store.ts'

const test = suite('countersign projections')

const NAMES = OWN_PROJECTIONS.map(({ name }) => name)
const RUN = NAMES[0] ?? ''
const KEYS = testStoreKeys('eventstoredb')
const STEPS = 12
const BY_CATEGORY = '$by_category'

type Answer = Pick<CommandResult, 'code' | 'stdout' | 'stderr'>
const ask = (node: EventStoreNode, action: string, ...more: readonly string[]): Promise<Answer> =>
  runInProcess(['projections', action, '--store', node.url, ...more])
const lines = ({ stdout }: Answer): readonly string[] => stdout.trimEnd().split('\n')

interface Runs {
  readonly runs?: number
  readonly tenant?: string
}

/** Some runs on the server there. */
async function ledgerAt(url: string, { runs = 2, tenant = 'acme' }: Runs = {}): Promise<void> {
  const store = await openEventStoreDbStore({ url, canonical: canonicalJson })
  await using test = await testLedger({ keys: KEYS, store })
  const caller = { ...alice, tenant }
  for (let seed = 1; seed <= runs; seed += 1) await randomRun(test, `r${seed}`, { seed, steps: STEPS, caller })
}

const ledgerOn = (node: EventStoreNode, runs?: number): Promise<void> =>
  ledgerAt(node.url, runs === undefined ? {} : { runs })

function tamperState(
  node: EventStoreNode,
  name: string,
  change: (state: { state: { spend: { tokens: number } } }) => void,
): string {
  const states = node.projections.projections.get(name)?.states
  const [partition = '', text = '{}'] = [...(states ?? [])].at(-1) ?? []
  const state = JSON.parse(text)
  change(state)
  states?.set(partition, JSON.stringify(state))
  return partition
}

/** With EVENTSTORE_URL set this one asks the real server there, where other projections and other tenants' runs may be. */
test('installed, the server folds every run as the ledger does: diff says so, and again after more events', async () => {
  await using node = SERVER_URL === '' ? await startNode() : undefined
  const url = node?.url ?? SERVER_URL
  const tenant = freshTenant('folded', 'eventstoredb')
  const run = (...args: readonly string[]): Promise<CommandResult> =>
    countersign(['projections', ...args, '--store', url, ...(args[0] === 'status' ? [] : ['--wait', '60'])])
  await ledgerAt(url, { tenant })
  const installed = await run('install')
  assert.is(installed.code, 0, installed.stdout + installed.stderr)
  for (const [index, name] of NAMES.entries()) {
    assert.match(lines(installed)[index] ?? '', new RegExp(`^${name}  (created|updated)  Running`))
  }
  for (const runs of [2, 4]) {
    await ledgerAt(url, { tenant, runs })
    const diff = await run('diff', '--tenant', tenant)
    assert.is(diff.code, 0, diff.stdout + diff.stderr)
    assert.match(
      diff.stdout,
      new RegExp(`^${runs * NAMES.length} states are the same, 0 differ, 0 lag behind, 0 are not`),
    )
  }
  const status = await run('status')
  assert.is(status.code, 0, status.stdout + status.stderr)
  for (const [index, name] of NAMES.entries()) {
    assert.match(lines(status)[index] ?? '', new RegExp(`^${name} +Running.*  [1-9]\\d* events`))
  }
})

test("--tenant keeps diff to one tenant's runs", async () => {
  await using node = await startNode()
  await ledgerAt(node.url, { tenant: 'one' })
  await ledgerAt(node.url, { tenant: 'one-two', runs: 3 })
  await ask(node, 'install')
  for (const [tenant, states] of [
    ['one', 4],
    ['one-two', 6],
    ['none', 0],
  ]) {
    const { code, stdout } = await ask(node, 'diff', '--tenant', String(tenant))
    assert.equal([code, stdout.split(' ')[0]], [0, String(states)])
  }
})

test('install again keeps what is there; --reset folds it anew and ends a difference', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  await ask(node, 'install')
  await ask(node, 'diff')
  const run = tamperState(node, RUN, (kept) => {
    kept.state.spend.tokens += 1
  })
  const again = await ask(node, 'install')
  assert.equal([again.code, ...lines(again)], [0, ...NAMES.map((name) => `${name}  updated  Running`)])
  assert.equal([...node.projections.projections.keys()].sort(), [BY_CATEGORY, ...NAMES].sort())

  const differs = await ask(node, 'diff')
  assert.is(differs.code, 1)
  const [where = '', ours = '', theirs = ''] = lines(differs)
  assert.ok(where.startsWith(`${run} @ `) && where.endsWith(`${RUN}  /state/spend/tokens`), where)
  assert.is(Number(theirs.replace('theirs', '')), Number(ours.replace('ours', '')) + 1)
  assert.match(differs.stderr, /projections install --reset/)

  const reset = await ask(node, 'install', '--reset')
  assert.equal([reset.code, ...lines(reset)], [0, ...NAMES.map((name) => `${name}  reset  Running`)])
  assert.is((await ask(node, 'diff')).code, 0)
})

test('a server that takes its time is waited for between commands, and a wait that is too short says so', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  node.projections.preparesMs = 300
  const short = await ask(node, 'install', '--wait', '0')
  assert.equal([short.code, ...lines(short)], [1, ...NAMES.map((name) => `${name}  created  Preparing`)])
  const reset = await ask(node, 'install', '--reset')
  assert.equal([reset.code, ...lines(reset)], [0, ...NAMES.map((name) => `${name}  reset  Running`)], reset.stderr)
  assert.is((await ask(node, 'diff')).code, 0)
})

test('on a cluster they are installed and compared at the leader, whichever node is named first', async () => {
  await using at = await startCluster(3)
  const [leader, follower] = at.nodes
  if (leader === undefined || follower === undefined) throw new Error('a cluster has nodes')
  await ledgerOn(leader)
  const both = `127.0.0.1:${follower.port},127.0.0.1:${leader.port}`
  for (const url of [follower.url, `esdb://${both}?tls=false&nodePreference=follower`, leader.url]) {
    for (const action of ['install', 'status', 'diff']) {
      const { code, stderr } = await runInProcess(['projections', action, '--store', url])
      assert.is(code, 0, `${url} ${action} ${stderr}`)
    }
  }
  assert.is(follower.projections.projections.size, 1)
})

test('a script of somebody else under our name is found out by diff, and replaced by install', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  node.projections.create(
    RUN,
    "fromCategory('run').foreachStream().when({ $init: () => ({ n: 0 }), $any: (s) => ({ n: s.n + 1 }) })",
  )
  node.projections.create(
    NAMES[1] ?? '',
    "fromCategory('run').foreachStream().when({ $any: (s, e) => ({ revision: e.sequenceNumber }) })",
  )
  const found = await ask(node, 'diff', '--json')
  assert.is(found.code, 1)
  const counts = JSON.parse(lines(found).at(-1) ?? '').counts
  assert.equal(counts, { same: 0, differs: 4, behind: 0, 'not-folded': 0 })
  assert.is((await ask(node, 'install', '--reset')).code, 0)
  assert.is((await ask(node, 'diff')).code, 0)
})

test('a faulted projection is exit code 1 with its reason; installing ours again has it run', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  assert.is((await ask(node, 'install')).code, 0)
  const projection = node.projections.projections.get(RUN)
  assert.ok(projection)
  node.projections.update(projection, "fromCategory('run').foreachStream().when({ $any: (s, e) => e.nowhere.at.all })")
  await ledgerOn(node, 3)
  const status = await ask(node, 'status')
  assert.is(status.code, 1)
  assert.match(lines(status)[0] ?? '', /Faulted: .*undefined/)
  const diff = await ask(node, 'diff')
  assert.is(diff.code, 3)
  assert.match(diff.stderr, /does not run: Faulted/)
  assert.is((await ask(node, 'install')).code, 0)
  assert.is((await ask(node, 'diff')).code, 0)
})

test('a script that the server cannot read is created all the same: status says that it never compiled, and where the reason is; install replaces it', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  for (const name of NAMES) node.projections.create(name, 'this is no script')
  const status = await ask(node, 'status')
  assert.is(status.code, 1)
  for (const line of lines(status)) assert.match(line, /Never compiled: .*COMPILATION_TIMEOUT.*log.*install/)
  assert.is((await ask(node, 'diff')).code, 3)
  assert.is((await ask(node, 'install')).code, 0)
  assert.is((await ask(node, 'diff')).code, 0)
})

test("a projection of anybody's that never compiled stands in the way of no command (F127)", async () => {
  await using node = await startNode()
  await ledgerOn(node)
  node.projections.create('orders', 'this is no script')
  for (const [action, ...more] of [['status'], ['install'], ['install', '--reset'], ['diff'], ['status']] as const) {
    const { code, stdout, stderr } = await ask(node, action, ...more)
    assert.is(code, action === 'status' && !stdout.includes('Running') ? 1 : 0, stdout + stderr)
  }
})

test('a server that has no time to compile is called again by install, and a wait that is too short says what to set (F127)', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  node.projections.timeOuts = 3
  const installed = await ask(node, 'install')
  assert.equal([installed.code, ...lines(installed)], [0, ...NAMES.map((name) => `${name}  created  Running`)])
  assert.is(node.projections.timeOuts, 0)
  assert.is((await ask(node, 'diff')).code, 0)

  await using busy = await startNode()
  busy.projections.timeOuts = 1_000
  const short = await ask(busy, 'install', '--wait', '1')
  assert.is(short.code, 1)
  assert.match(short.stdout, /created {2}Never compiled: .*EVENTSTORE_PROJECTION_COMPILATION_TIMEOUT/)
})

test('a projection of another version of ours is named by status, and counts for nothing', async () => {
  await using node = await startNode()
  await ask(node, 'install')
  node.projections.create('countersign-run-v0', 'broken by now')
  const { code, stdout } = await ask(node, 'status')
  assert.is(code, 0)
  assert.match(stdout, /\ncountersign-run-v0 +of another version/)
})

test('what is not installed is said to be so, by status and by diff', async () => {
  await using node = await startNode()
  const status = await ask(node, 'status')
  assert.is(status.code, 1)
  for (const line of lines(status)) assert.match(line, /Not installed: run "countersign projections install"/)
  const diff = await ask(node, 'diff')
  assert.equal([diff.code, diff.stdout], [3, ''])
  assert.match(diff.stderr, /Not installed/)
})

test('where the server sorts no streams by category, install changes nothing and says what to start', async () => {
  await using node = await startNode()
  const category = node.projections.projections.get(BY_CATEGORY)
  assert.ok(category)
  node.projections.disable(category)
  const { code, stderr } = await ask(node, 'install', '--wait', '0')
  assert.is(code, 3)
  assert.match(
    stderr,
    /^countersign: \$by_category is not running \(Stopped\).*EVENTSTORE_START_STANDARD_PROJECTIONS=true.*\n$/,
  )
  assert.equal([...node.projections.projections.keys()], [BY_CATEGORY])
})

test('line separators of Unicode are folded on the server, a control character in a name is said not to be, and other runs are folded on (F128)', async () => {
  await using node = await startNode()
  const store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  await using ledger = await testLedger({ keys: KEYS, store })
  const lines = 'one\u2028two\u2029three'
  const separated = drive(ledger, 'separated')
  await separated.start({ name: lines })
  await separated.hand('cat', { note: lines, [lines]: 1 }, { mode: 'replace' })
  await separated.do({ kind: 'claim', body: { key: lines, tool: 'look', args: { lines } } })
  const inBody = drive(ledger, 'in-a-body')
  await inBody.start({})
  await inBody.hand('cat', { 'a\nb': 1 }, { mode: 'replace' })
  const inState = drive(ledger, 'in-the-state')
  await inState.start({})
  await inState.do({ kind: 'claim', body: { key: 'a\u0001b', tool: 'look', args: {} } })
  await randomRun(ledger, 'r9', { seed: 9, steps: STEPS })

  assert.is((await ask(node, 'install')).code, 0)
  const diff = await ask(node, 'diff')
  assert.is(diff.code, 3, diff.stdout + diff.stderr)
  assert.match(diff.stdout, /in-a-body @ 1 .*not folded: .*control character in a name/)
  assert.match(diff.stdout, /in-the-state @ 1 .*not folded: control-character/)
  assert.match(diff.stdout, /0 differ, 0 lag behind, [34] are not folded/)
  assert.not.match(diff.stdout, /separated|r9 @/)
  assert.is((await ask(node, 'status')).code, 0)
})

test('a server that lags is waited for, and is neither the same nor different where it does not come', async () => {
  await using node = await startNode()
  await ledgerOn(node)
  await ask(node, 'install')
  node.projections.paused = true
  await ledgerOn(node, 3)
  const behind = await ask(node, 'diff', '--wait', '0')
  assert.is(behind.code, 3, behind.stdout)
  assert.match(behind.stdout, /lags behind \d+: wait longer/)
  node.projections.asked = 0
  const waiting = ask(node, 'diff', '--wait', '60')
  while (node.projections.asked === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  node.projections.paused = false
  node.projections.wake()
  assert.is((await waiting).code, 0)
})

test('a server that works through a backlog is waited for as long as it moves, and one that stands still only once', async () => {
  await using node = await startNode()
  await ledgerOn(node, 5)
  node.projections.stepwise = true
  await ask(node, 'install')
  const moving = await ask(node, 'diff', '--wait', '1')
  assert.is(moving.code, 0, moving.stdout)
  assert.ok(node.projections.asked > 30, `the backlog of ${node.projections.asked} is longer than the wait`)
  node.projections.paused = true
  await ledgerOn(node, 7)
  node.projections.asked = 0
  const still = await ask(node, 'diff', '--wait', '1')
  assert.is(still.code, 3)
  assert.ok(node.projections.asked < 50, `asked ${node.projections.asked} times`)
})

test("another program's stream of the same category is named, and stands in the way of no run", async () => {
  await using node = await startNode()
  await ledgerOn(node)
  const data = Buffer.from('{"speed":"7 km/h"}')
  const event = {
    id: crypto.randomUUID(),
    type: 'Started',
    contentType: 'application/json',
    data,
    metadata: Buffer.from(''),
  }
  node.log.append('run-in-the-park', 'no-stream', [event])
  await ask(node, 'install')
  const { code, stdout } = await ask(node, 'diff')
  assert.is(code, 3)
  assert.match(stdout, new RegExp(`^run-in-the-park @ 0 +${RUN} +not folded: unreadable\\n`))
  assert.match(stdout, /\n4 states are the same, 0 differ/)
})

test('a server that runs no projections, one that is away and a store that is no server each say what to do', async () => {
  await using without = await startNode({ runsProjections: false })
  const off = await ask(without, 'status')
  assert.is(off.code, 3)
  assert.match(off.stderr, /runs no projections: start it with EVENTSTORE_RUN_PROJECTIONS=All/)

  const gone = await startNode()
  await gone[Symbol.asyncDispose]()
  const away = await countersign(['projections', 'install', '--store', gone.url])
  assert.is(away.code, 4)
  assert.match(away.stderr, /no node answers at esdb:/)

  using small = await smallStore()
  const file = await runInProcess(['projections', 'status', '--store', small.path])
  assert.is(file.code, 2)
  assert.match(file.stderr, /--store esdb:/)
  for (const wrong of [
    ['sell'],
    ['constructor'],
    [],
    ['status', '--reset'],
    ['diff', '--wait', 'long'],
    ['status', '--tenant', 'x'],
    ['diff', '--tenant', 'A'],
  ]) {
    assert.is((await runInProcess(['projections', ...wrong, '--store', without.url])).code, 2, wrong.join(' '))
  }
})

test.run()
