import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { HookCalls, type HookOptions } from '../../../src/capture/hook/hook-calls.ts'
import type { HookCall } from '../../../src/capture/hook/hook-input.ts'
import { HookNotes } from '../../../src/capture/hook/hook-notes.ts'
import { createClient } from '../../../src/client/client.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { type TestEdge, testEdge } from '../../support/test-edge.ts'
import { eventually } from '../../support/within.ts'

const hookCalls = suite('capture: the calls of a hook')

const RUN = 'hook-claude-code-s1'
const OK = { result: { stdout: 'done' } }
const bash = (id: string, command = 'ls'): HookCall => ({ tool: 'Bash', args: { command }, id, turn: '' })

/** More than a ledger ever takes to answer, however busy the machine is. */
const AMPLE_MS = 60_000

/** Ample time for an answer, and none to look again for an approval: what is pending is denied at once. */
function timeForOneLook(): () => number {
  let asked = 0
  return () => (asked++ === 0 ? AMPLE_MS : 0)
}

let tenants = 0
const edges: Promise<TestEdge>[] = []
hookCalls.after(async () => {
  for (const edge of edges) await (await edge)[Symbol.asyncDispose]()
})

/** One ledger for all, a tenant for each. */
function sharedEdge(): Promise<TestEdge> {
  const edge = edges[0] ?? testEdge()
  if (edges.length === 0) edges.push(edge)
  return edge
}

/** Each `hook()` is what a process of its own would be: it knows the ledger and the notes. */
async function rig() {
  const edge = await sharedEdge()
  tenants += 1
  const token = await edge.token({ tenant: `t${tenants}` })
  const folder = tempFolder()
  const network: { state: 'up' | 'down' } = { state: 'up' }
  const said: string[] = []
  const client = createClient({
    ...{ url: 'http://ledger.test', token, retries: 0 },
    fetch: async (url, init) => {
      if (network.state === 'down') throw new TypeError('fetch failed')
      return edge.app.request(url, init)
    },
  })
  const hook = (options: Partial<HookOptions> = {}): HookCalls =>
    new HookCalls({
      ...{ client, desk: { url: 'http://ledger.test' }, host: 'claude-code', session: 's1', run: undefined },
      ...{ agent: undefined, effects: {}, secrets: [], whenAway: 'refuse', notes: new HookNotes(folder.file('notes')) },
      ...{ leftMs: timeForOneLook(), say: (text: string) => void said.push(text) },
      ...options,
    })
  const recorded = async (run = RUN): Promise<readonly JsonObject[]> => {
    const found: JsonObject[] = []
    for await (const call of client.calls(run)) found.push(call)
    return found
  }
  return {
    ...{ edge, token, client, network, hook, said, recorded, folder },
    statuses: async (run = RUN) => (await recorded(run)).map(({ key, status }) => [key, status]),
    events: async (type: string, run = RUN): Promise<readonly JsonObject[]> => {
      const found: JsonObject[] = []
      for await (const { header, data } of client.events(run)) if (header.type === type) found.push(data)
      return found
    },
    [Symbol.asyncDispose]: async () => {
      folder[Symbol.dispose]()
    },
  }
}

hookCalls(
  'the hooks of a call are about one claim, however often they run, and its answer is settled there (CAP-36)',
  async () => {
    await using at = await rig()
    assert.equal(await at.hook().before(bash('t1')), { allow: true })
    assert.equal(await Promise.all([at.hook().before(bash('t1')), at.hook().before(bash('t1'))]), [
      { allow: true },
      { allow: true },
    ])
    assert.equal(await at.statuses(), [['hook:t1', 'claimed']])
    await at.hook().after(bash('t1'), OK)
    await at.hook().after(bash('t1'), OK)
    const [call, ...more] = await at.recorded()
    assert.equal([call?.status, call?.result, more.length], ['succeeded', OK.result, 0])
    const again = await at.hook().before(bash('t1'))
    assert.is(again.allow, false, 'what has run under this id does not run again')
    assert.is((await at.hook().before(bash('t1', 'rm -rf /'))).allow, false, 'nor does another one')
  },
)

hookCalls('hooks that begin a run at once are one start, which takes nothing over (CAP-36)', async () => {
  await using at = await rig()
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => at.hook().before(bash(id, id))))
  assert.is((await at.recorded()).length, 4)
  assert.is((await at.events('RunStarted')).length, 1)
  assert.equal(await at.events('RunResumed'), [])
})

hookCalls('a call is settled without the notes of the hook before, by its key alone (CAP-36, CAP-39)', async () => {
  await using at = await rig()
  const elsewhere = { notes: new HookNotes(at.folder.file('other')) }
  await at.hook().before(bash('t1'))
  await at.hook(elsewhere).after(bash('t1'), { error: { message: 'exit 1', code: 'tool-failed' } })
  const [call] = await at.recorded()
  assert.equal([call?.status, call?.error], ['failed', { message: 'exit 1', code: 'tool-failed' }])
})

hookCalls('what nobody announced is recorded as observed late, and once (CAP-37)', async () => {
  await using at = await rig()
  await at.hook().after(bash('t1'), OK)
  await at.hook().after(bash('t1'), OK)
  await at.hook().after(bash('t2', 'b'), { error: { message: 'exit 1', code: 'tool-failed' } })
  const [first, second, ...more] = await at.recorded()
  assert.equal(first?.result, { observed: 'late', answer: OK.result })
  assert.equal(second?.error, { message: 'exit 1', code: 'observed-late' })
  assert.is(more.length, 0)
})

hookCalls(
  'an equal call is denied while one is open or in doubt, in another session too, and a read is not (CAP-36)',
  async () => {
    await using at = await rig()
    await at.hook().before(bash('t1'))
    const [first] = await at.recorded()
    for (const session of ['s1', 's2']) {
      const denied = await at.hook({ session }).before(bash('t2'))
      assert.match(denied.allow ? '' : denied.reason, String(first?.callId))
    }
    const effects = { Bash: { effect: 'none' as const } }
    assert.equal(await at.hook({ effects }).before(bash('t3')), { allow: true })
    await at.hook().after(bash('t1'), { unknown: { reason: 'interrupted' } })
    assert.is((await at.hook().before(bash('t4'))).allow, false)
    assert.equal(await at.hook().before(bash('t5', 'other')), { allow: true })
  },
)

hookCalls(
  'at the end of the session what is open is in doubt, and else the run is completed; a resumed session goes on in the next (CAP-36, CAP-37)',
  async () => {
    await using at = await rig()
    await at.hook().start()
    await at.hook().before(bash('t1'))
    await at.hook().after(bash('t1'), OK)
    await at.hook().end()
    assert.is((await at.client.run(RUN)).status, 'completed')
    await at.hook().start()
    await at.hook().before(bash('t2'))
    await at.hook().end()
    assert.equal(await at.statuses(`${RUN}.2`), [['hook:t2', 'in-doubt']])
    assert.is((await at.client.run(`${RUN}.2`)).status, 'open', 'it waits for whoever resolves the doubt')
    await at.hook().end()
  },
)

hookCalls('an approval is waited for while there is time; the next equal call uses it, once (CAP-38)', async () => {
  await using at = await rig()
  await at.client.execute('', {
    kind: 'start',
    body: { id: 'gated', name: 'g', policy: { approve: [{ tools: ['Bash'], selfApproval: true }] } },
  })
  const run = { run: 'gated' }
  const denied = await at.hook(run).before(bash('t1'))
  const [pending] = await at.events('ApprovalRequested', 'gated')
  const approvalId = String(pending?.approvalId)
  assert.match(denied.allow ? '' : denied.reason, `http://ledger.test/ui/runs/gated/approvals/${approvalId}`)
  assert.is((await at.hook(run).before(bash('t2'))).allow, false)
  assert.is((await at.events('ApprovalRequested', 'gated')).length, 1, 'the second asks for the same')
  await at.client.execute('gated', { kind: 'grant', approvalId, body: { argsDigest: String(pending?.argsDigest) } })
  const both = await Promise.all([at.hook(run).before(bash('t3')), at.hook(run).before(bash('t4'))])
  assert.is(both.filter(({ allow }) => allow).length, 1, 'it is used once')
  assert.is((await at.recorded('gated')).filter(({ status }) => status === 'claimed').length, 1)
  const used = both[0]?.allow === true ? 't3' : 't4'
  await at.hook(run).after(bash(used), OK)
  assert.is((await at.hook(run).before(bash('t5'))).allow, false, 'a further one needs its own')
  const waiting = at.hook({ ...run, leftMs: () => AMPLE_MS }).before(bash('t6', 'b'))
  const asked = await eventually(
    async () =>
      (await at.events('ApprovalRequested', 'gated')).find(({ args }) => (args as JsonObject).command === 'b'),
    'the second approval',
  )
  const { argsDigest } = asked
  await at.client.execute('gated', {
    kind: 'grant',
    approvalId: String(asked.approvalId),
    body: { argsDigest: String(argsDigest) },
  })
  assert.equal(await waiting, { allow: true })
})

hookCalls(
  'a ledger that is away denies; with pass it does not, and the next hook records the gap (CAP-39)',
  async () => {
    await using at = await rig()
    at.network.state = 'down'
    const denied = await at.hook().before(bash('t1'))
    assert.match(denied.allow ? '' : denied.reason, /the ledger that must record/)
    for (const id of ['t2', 't3'])
      assert.equal(await at.hook({ whenAway: 'pass' }).before(bash(id, id)), { allow: true })
    at.network.state = 'up'
    await at.hook().after(bash('t2', 't2'), OK)
    const [gap, ...more] = await at.events('CaptureGap')
    assert.equal([gap?.entrance, gap?.server, gap?.count, more.length], ['hook', 'claude-code', 2, 0])
    assert.ok(String(gap?.from) <= String(gap?.to))
    assert.equal(
      (await at.recorded()).map(({ result }) => result),
      [{ observed: 'late', answer: OK.result }],
    )
    await at.hook().end()
    assert.is((await at.events('CaptureGap')).length, 1)
  },
)

hookCalls(
  'a claim that got no answer is settled as not forwarded by the next hook, and by none in doubt (CAP-39)',
  async () => {
    await using at = await rig()
    await at.hook().start()
    const lost = createClient({
      ...{ url: 'http://ledger.test', token: at.token, retries: 0 },
      fetch: async (url, init) => {
        const answer = await at.edge.app.request(url, init)
        if (init.method === 'POST') throw new TypeError('fetch failed')
        return answer
      },
    })
    assert.is((await at.hook({ client: lost }).before(bash('t1'))).allow, false)
    assert.equal(await at.statuses(), [['hook:t1', 'claimed']], 'the claim arrived')
    assert.equal(await at.hook().before(bash('t2')), { allow: true }, 'and does not stand in the way of the next')
    assert.equal(await at.statuses(), [
      ['hook:t1', 'failed'],
      ['hook:t2', 'claimed'],
    ])
  },
)

hookCalls('a ledger that does not answer leaves the agent its time (CAP-35)', async () => {
  await using at = await rig()
  const silent = createClient({
    url: 'http://ledger.test',
    token: 't',
    retries: 0,
    timeoutMs: 500,
    fetch: () => new Promise(() => undefined),
  })
  const startedMs = performance.now()
  const denied = await at.hook({ client: silent, leftMs: () => 50 }).before(bash('t1'))
  assert.ok(performance.now() - startedMs < 5_000)
  assert.match(denied.allow ? '' : denied.reason, /no answer in the time/)
  const passed = at.hook({ client: silent, leftMs: () => 50, whenAway: 'pass' })
  assert.equal(await passed.before(bash('t2')), { allow: true })
})

hookCalls('calls without an id are counted among their equals, and settled in turn (CAP-36)', async () => {
  await using at = await rig()
  const call: HookCall = { tool: 'Shell', args: { command: 'ls' }, id: undefined, turn: 'gen-1' }
  const effects = { Shell: { effect: 'none' as const } }
  for (const _ of [1, 2]) assert.equal(await at.hook({ effects }).before(call), { allow: true })
  for (const _ of [1, 2]) await at.hook({ effects }).after(call, OK)
  assert.equal(await at.hook().before(call), { allow: true })
  assert.is((await at.hook().before(call)).allow, false, 'once: its equal is open')
  assert.equal(
    (await at.recorded()).map(({ status }) => status),
    ['succeeded', 'succeeded', 'claimed'],
  )
})

hookCalls(
  'A639 the hooks of a Cursor command are one call, although only the first names the folder (CAP-36)',
  async () => {
    await using at = await rig()
    const from = { tool: 'Shell', id: undefined, turn: 'gen-1' }
    for (const cwd of ['/p', '', '/p']) {
      assert.equal(await at.hook().before({ ...from, args: { command: 'ls', cwd } }), { allow: true })
      await at.hook().after({ ...from, args: { command: 'ls' } }, OK)
    }
    assert.equal(
      (await at.recorded()).map(({ status, args }) => `${status} ${JSON.stringify(args)}`),
      ['/p', '', '/p'].map((cwd) => `succeeded ${JSON.stringify({ command: 'ls', cwd })}`),
    )
  },
)

hookCalls(
  'a call that the host ran with other arguments is recorded with those, and the announced one as not run so (CAP-37)',
  async () => {
    await using at = await rig()
    await at.hook().before(bash('t1', 'ls'))
    await at.hook().after(bash('t1', 'rm -r x'), OK)
    assert.equal(
      (await at.recorded()).map(({ status, args, error, result }) => [status, args, error ?? result]),
      [
        [
          'failed',
          { command: 'ls' },
          {
            message: 'the host ran the call with other arguments, and that is recorded as a call of its own',
            code: 'other-arguments',
          },
        ],
        ['succeeded', { command: 'rm -r x' }, { observed: 'late', answer: OK.result }],
      ],
    )
  },
)

hookCalls('no secret of the environment and no bytes of an image are recorded (CAP-36)', async () => {
  await using at = await rig()
  const secrets = [['API_KEY', 'hunter2hunter2']] as const
  await at.hook({ secrets }).before(bash('t1', 'curl -H hunter2hunter2'))
  const image = { type: 'image', file: { base64: 'aGVsbG8gaW1hZ2U=', type: 'image/png' } }
  await at.hook({ secrets }).after(bash('t1', 'curl -H hunter2hunter2'), { result: image })
  const text = JSON.stringify(await at.recorded())
  assert.not.match(text, 'hunter2')
  assert.not.match(text, 'aGVsbG8')
  assert.match(text, '"mediaType":"image/png"')
})

hookCalls.run()
