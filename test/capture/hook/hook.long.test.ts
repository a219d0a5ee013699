import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { type Client, createClient } from '../../../src/client/client.ts'
import {
  BIN,
  type CommandResult,
  cleanEnv,
  collected,
  countersign,
  endOf,
  spawnTracked,
} from '../../support/command-line.ts'
import { type ServerProcess, startServer } from '../../support/server-process.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { within } from '../../support/within.ts'

const hook = suite('capture: hooks as processes')

const NOWHERE = 'http://127.0.0.1:9'
const bash = (event: string, id: string, more: object = {}): object => ({
  ...{ session_id: 's1', transcript_path: '/t.jsonl', cwd: '/p', hook_event_name: event },
  ...{ tool_name: 'Bash', tool_input: { command: `make ${id}` }, tool_use_id: id },
  ...more,
})

interface World extends AsyncDisposable {
  readonly server: ServerProcess
  readonly folder: TempFolder
  readonly client: Client
  /** Where hooks find the ledger, while it is not away. */
  readonly url: string
  readonly away: () => void
  readonly back: () => Promise<unknown>
  readonly run: (input: object | string, flags?: readonly string[]) => Promise<CommandResult>
  readonly calls: (run?: string) => Promise<readonly JsonObject[]>
}

async function world(): Promise<World> {
  const server = await startServer()
  const folder = tempFolder()
  const token = await server.token({ scopes: ['runs:write', 'runs:read', 'approvals:write'] })
  const client = createClient({ url: server.url, token })
  const sockets = new Set<Socket>()
  const door = createServer((socket) => {
    const inner = connect(Number(new URL(server.url).port), '127.0.0.1')
    for (const each of [socket, inner]) each.on('error', () => each.destroy())
    sockets.add(socket.on('close', () => inner.destroy()))
    socket.pipe(inner).pipe(socket)
  })
  await once(door.listen(0, '127.0.0.1'), 'listening')
  const { port } = door.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const away = (): void => {
    door.close()
    for (const socket of sockets) socket.destroy()
  }
  return {
    ...{ server, folder, client, url, away },
    back: () => once(door.listen(port, '127.0.0.1'), 'listening'),
    run: (input, flags = []) =>
      countersign(['hook', '--url', url, '--state', folder.file('state'), ...flags], {
        env: { COUNTERSIGN_TOKEN: token },
        stdin: typeof input === 'string' ? input : JSON.stringify(input),
      }),
    calls: async (run = 'hook-claude-code-s1') => {
      const found: JsonObject[] = []
      for await (const call of client.calls(run)) found.push(call)
      return found
    },
    [Symbol.asyncDispose]: async () => {
      away()
      folder[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** What the host makes of it: nothing is a yes. */
function denialIn({ stdout, code }: CommandResult): string | undefined {
  assert.is(code, 0)
  if (stdout === '') return undefined
  const { hookSpecificOutput } = JSON.parse(stdout)
  assert.is(hookSpecificOutput.permissionDecision, 'deny')
  return String(hookSpecificOutput.permissionDecisionReason)
}

hook(
  'a session from its start to its end: yes, no, an outcome, a doubt, and two at once (CAP-35 to CAP-37)',
  async () => {
    await using at = await world()
    await at.run({ session_id: 's1', hook_event_name: 'SessionStart', source: 'startup' })
    const both = await Promise.all([at.run(bash('PreToolUse', 'a')), at.run(bash('PreToolUse', 'b'))])
    assert.equal(both.map(denialIn), [undefined, undefined])
    assert.equal(
      both.map(({ stderr }) => stderr),
      ['', ''],
    )
    const equal = { ...bash('PreToolUse', 'c'), tool_input: { command: 'make a' } }
    assert.match(denialIn(await at.run(equal)) ?? '', /an equal call of Bash has no known outcome/)
    await at.run(bash('PostToolUse', 'a', { tool_response: { stdout: 'made' } }))
    assert.is(denialIn(await at.run({ ...equal, tool_use_id: 'd' })), undefined)
    await at.run({ ...equal, hook_event_name: 'PostToolUseFailure', tool_use_id: 'd', error: 'exit code 2' })
    // Of b no hook ever tells: the host was killed.
    const end = await at.run({ session_id: 's1', hook_event_name: 'SessionEnd', reason: 'other' })
    assert.is(end.stdout, '')
    assert.match(end.stderr, /stays open/)
    const calls = await at.calls()
    const ends = Object.fromEntries(calls.map(({ key, status }) => [String(key), String(status)]))
    assert.equal(ends, { 'hook:a': 'succeeded', 'hook:b': 'in-doubt', 'hook:c': 'failed', 'hook:d': 'failed' })
  },
)

hook(
  'a hook that is killed before its claim is a yes to the host, and what it then tells is observed late (CAP-37)',
  async () => {
    await using at = await world()
    const token = await at.server.token()
    const flags = ['hook', '--url', at.server.url, '--state', at.folder.file('state')]
    const child = spawnTracked([process.execPath, BIN, ...flags], {
      env: cleanEnv({ COUNTERSIGN_TOKEN: token }),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin?.write('{"session_id":')
    child.kill('SIGKILL')
    await within(endOf(child))
    await at.run(bash('PostToolUse', 'a', { tool_response: { stdout: 'made' } }))
    assert.equal(
      (await at.calls()).map(({ result }) => result),
      [{ observed: 'late', answer: { stdout: 'made' } }],
    )
  },
)

hook(
  'an approval that is granted while the hook waits is a yes; one that is not is a no in time (CAP-38)',
  async () => {
    await using at = await world()
    const policy = { approve: [{ tools: ['Bash'], selfApproval: true }] }
    await at.client.execute('', { kind: 'start', body: { id: 'gated', name: 'gated', policy } })
    const denied = denialIn(await at.run(bash('PreToolUse', 'a'), ['--run', 'gated', '--within', '3'])) ?? ''
    const [, approvalId = ''] = /Approval (\S+) of run gated/.exec(denied) ?? []
    assert.match(denied, `${at.url}/ui/runs/gated/approvals/${approvalId}`)
    const waiting = at.run({ ...bash('PreToolUse', 'z'), tool_input: { command: 'make a' } }, [
      '--run',
      'gated',
      '--within',
      '60',
    ])
    const { argsDigest } = await at.client.approval('gated', approvalId)
    await at.client.execute('gated', { kind: 'grant', approvalId, body: { argsDigest: String(argsDigest) } })
    assert.is(denialIn(await waiting), undefined)
    assert.equal(
      (await at.calls('gated')).map(({ status, approvalId: used }) => [status, used]),
      [['claimed', approvalId]],
    )
  },
)

hook('without its ledger a call is denied in time, and with pass the next hook records the gap (CAP-39)', async () => {
  await using at = await world()
  at.away()
  assert.match(denialIn(await at.run(bash('PreToolUse', 'a'))) ?? '', /the ledger that must record/)
  assert.is(denialIn(await at.run(bash('PreToolUse', 'b'), ['--when-ledger-is-away', 'pass'])), undefined)
  await at.back()
  await at.run(bash('PostToolUse', 'b', { tool_response: 'made' }))
  assert.equal(
    (await at.calls()).map(({ key, result }) => [key, result]),
    [['hook:b', { observed: 'late', answer: 'made' }]],
  )
  const gaps: JsonObject[] = []
  for await (const { header, data } of at.client.events('hook-claude-code-s1'))
    if (header.type === 'CaptureGap') gaps.push(data)
  assert.equal(
    gaps.map(({ entrance, count }) => [entrance, count]),
    [['hook', 1]],
  )
})

hook('whatever comes in, nothing but one JSON text goes out, and the process ends (CAP-35)', async () => {
  await using at = await world()
  const other = await at.run({ session_id: 's1', hook_event_name: 'Notification' })
  assert.equal([other.code, other.stdout], [0, ''])
  for (const input of ['', '{', '\0'.repeat(100), '['.repeat(1_000_000), `{"a":"${'x'.repeat(40 * 1024 * 1024)}"}`]) {
    const { code, stdout, stderr } = await at.run(input)
    assert.equal([code, stdout], [2, ''], stderr)
    assert.match(stderr, /the input of the hook/)
  }
  assert.match(
    denialIn(await at.run(JSON.stringify(bash('PreToolUse', 'a')).replace('make a', '\\ud800'))) ?? '',
    /recorded exactly/,
  )
  assert.match(denialIn(await at.run(bash('PreToolUse', 'a', { tool_name: 'x'.repeat(5_000) }))) ?? '', /Not run/)
})

hook('an input that never ends is a no before the host runs out of time (CAP-35)', async () => {
  using folder = tempFolder()
  const flags = ['hook', '--url', NOWHERE, '--state', folder.file('state'), '--within', '2']
  const child = spawnTracked([process.execPath, BIN, ...flags], {
    env: cleanEnv({ COUNTERSIGN_TOKEN: 'x' }),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = collected(child)
  child.stdin?.write('{"hook_event_name":"PreToolUse"')
  const { code } = await within(endOf(child), 'the end of the hook')
  assert.equal([code, output.stdout], [2, ''])
})

hook(
  'hooks that open the store come in turn, and one that a server owns is a no with its address (CAP-36, CAP-39)',
  async () => {
    using folder = tempFolder()
    const place = ['--state', folder.file('state'), '--data', folder.file('data')]
    const run = (input: object, more: readonly string[] = place) =>
      countersign(['hook', ...more, '--within', '60'], { stdin: JSON.stringify(input) })
    const both = await Promise.all([run(bash('PreToolUse', 'a')), run(bash('PreToolUse', 'b'))])
    assert.equal(both.map(denialIn), [undefined, undefined], both.map(({ stderr }) => stderr).join())
    await run(bash('PostToolUse', 'a', { tool_response: 1 }))
    const listed = await countersign(['calls', 'list', '--data', folder.file('data'), '--json'])
    assert.match(listed.stdout, 'hook:b')
    assert.not.match(listed.stdout, 'hook:a')
    await using server = await startServer()
    const served = await run(bash('PreToolUse', 'a'), ['--state', folder.file('state'), '--data', server.data])
    assert.match(denialIn(served) ?? '', server.url)
  },
)

hook.run()
