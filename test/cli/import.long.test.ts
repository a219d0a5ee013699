import { readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AIRLINE_RUNS, SKIPPED } from '../support/airline-runs.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { rounds } from '../support/rounds.ts'
import { startServer } from '../support/server-process.ts'
import { rowsOf } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const importing = suite('cli: import')

const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const transcript = {
  id: 'chat-1',
  model: 'm',
  reward: 1,
  messages: [
    { role: 'user', content: 'book a flight' },
    { role: 'assistant', content: null, tool_calls: [call('a', 'search', '{"to":"SEA"}')] },
    { role: 'tool', tool_call_id: 'a', content: '[{"flight":"HAT069"}]' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [call('a', 'book', '{"flight":"HAT069"}'), call('b', 'note', 'not json')],
    },
    { role: 'tool', tool_call_id: 'a', content: 'Error: full' },
    { role: 'tool', tool_call_id: 'b', content: 'true' },
    { role: 'assistant', content: 'Sorry, it is full.' },
  ],
}
const args = ['--format', 'openai', '--json']

interface Event {
  readonly type: string
  readonly data: { readonly [name: string]: unknown }
}

function eventsOf(path: string, stream: string): readonly Event[] {
  const rows = rowsOf(path).filter((row) => row.stream === stream)
  return rows.map(({ header, data }) => ({ type: JSON.parse(header).type, data: JSON.parse(data) }))
}

importing('a transcript becomes a run whose calls stand under the place they had (RUN-2)', async () => {
  using folder = tempFolder()
  const { code, stdout, stderr } = await runInProcess(['import', '-', ...args], {
    cwd: folder.path,
    stdin: JSON.stringify(transcript),
  })
  assert.is(code, 0, stderr)
  const { runs, calls, added, events } = JSON.parse(stdout)
  assert.equal({ runs, calls, added, events }, { runs: 1, calls: 3, added: 1, events: 9 })

  const recorded = eventsOf(folder.file('.countersign/store.db'), 'run-default.chat-1')
  const claims = recorded
    .filter(({ type }) => type === 'ToolCallClaimed')
    .map(({ data }) => [data.key, data.tool, data.args])
  assert.equal(claims, [
    ['m1.c0', 'search', { to: 'SEA' }],
    ['m3.c0', 'book', { flight: 'HAT069' }],
    ['m3.c1', 'note', 'not json'],
  ])
  const results = recorded.filter(({ type }) => type === 'ToolCallSucceeded').map(({ data }) => data.result)
  assert.equal(results, [[{ flight: 'HAT069' }], 'Error: full', true])
  assert.equal(recorded.at(-1)?.data, { v: 1, output: 'Sorry, it is full.' })
})

importing('a call without a result is in doubt, and its run failed rather than completed', async () => {
  using folder = tempFolder()
  const open = { ...transcript, id: 'cut', messages: transcript.messages.slice(0, 4) }
  await runInProcess(['import', '-', ...args], { cwd: folder.path, stdin: JSON.stringify(open) })
  const types = eventsOf(folder.file('.countersign/store.db'), 'run-default.cut').map(({ type }) => type)
  assert.equal(types.slice(-3), ['ToolCallInDoubt', 'ToolCallInDoubt', 'RunFailed'])
})

importing('a broken line is named by its number, the others go on, and the exit code is 1', async () => {
  using folder = tempFolder()
  const lines = [
    JSON.stringify(transcript),
    '{"id": "broken", ',
    JSON.stringify({ id: 'x', messages: [{ role: 'tool', tool_call_id: 'none', content: '' }] }),
    '{"messages": []}',
    JSON.stringify({ ...transcript, id: 'no valid run id!' }),
    JSON.stringify({ ...transcript, messages: transcript.messages.slice(0, 1) }),
  ]
  const { code, stdout, stderr } = await runInProcess(['import', '-', ...args], {
    cwd: folder.path,
    stdin: lines.join('\n'),
  })
  assert.is(code, 1)
  const { runs, refused } = JSON.parse(stdout)
  assert.equal({ runs, refused }, { runs: 2, refused: 4 })
  const named = [...stderr.matchAll(/^countersign: line (\d+): /gm)].map(([, number]) => Number(number))
  assert.equal(named.sort(), [2, 3, 4, 6])
})

importing('a server takes the same transcripts, and nothing of them twice', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await using server = await startServer({ data: folder.file('.countersign') })
  const token = (await runInProcess(['token', '--scope', 'runs:write'], { cwd })).stdout.trim()
  const env = { COUNTERSIGN_TOKEN: token }
  const options = { cwd, env, stdin: JSON.stringify(transcript) }
  const first = await runInProcess(['import', '-', ...args, '--url', server.url], options)
  assert.is(first.code, 0, first.stderr)
  assert.is(JSON.parse(first.stdout).added, 1)
  const second = await runInProcess(['import', '-', ...args, '--url', server.url], options)
  assert.is(JSON.parse(second.stdout).known, 1)

  const refused = await runInProcess(['import', '-', ...args, '--url', server.url], {
    ...options,
    env: { COUNTERSIGN_TOKEN: 'x' },
  })
  assert.is(refused.code, 1)
  await server.stop()
  const gone = await runInProcess(['import', '-', ...args, '--url', server.url], options)
  assert.is(gone.code, 4)
})

const [RUNS, CALLS, EVENTS] = rounds(0, 1) === 0 ? [20, 118, 407] : [100, 577, 1_969]

importing(`${RUNS} real runs with ${CALLS} calls are imported once, and verify`, async () => {
  if (AIRLINE_RUNS === undefined) {
    process.stdout.write(SKIPPED)
    return
  }
  using folder = tempFolder()
  const cwd = folder.path
  const lines = readFileSync(AIRLINE_RUNS, 'utf8').trimEnd().split('\n')
  assert.is(lines.length, 100)
  const path = folder.file('runs.jsonl')
  writeFileSync(path, lines.slice(0, RUNS).join('\n'))
  const first = JSON.parse((await runInProcess(['import', path, ...args], { cwd })).stdout)
  assert.equal([first.runs, first.calls, first.added, first.events], [RUNS, CALLS, RUNS, EVENTS])
  const second = JSON.parse((await runInProcess(['import', path, ...args], { cwd })).stdout)
  assert.equal([second.runs, second.added, second.known, second.events], [RUNS, 0, RUNS, 0])
  const verified = await runInProcess(['verify'], { cwd })
  const [, events = '', streams] = /^VERIFIED {2}([\d,]+) events of (\d+) streams/.exec(verified.stdout) ?? []
  // The ledger has a few of its own.
  assert.ok(Number(events.replace(',', '')) >= EVENTS && Number(streams) >= RUNS, verified.stdout)
  const replayed = await runInProcess(['replay', 'task-0-trial-0', '--json'], { cwd })
  const { verdict, snapshots } = JSON.parse(replayed.stdout.trimEnd().split('\n').at(-1) ?? '')
  assert.equal([verdict, snapshots], ['VERIFIED', { matched: 7, mismatched: 0, notCompared: 0 }])
})

importing('an import that was cut off goes on where it stopped', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const half = { ...transcript, id: 'chat-1' }
  writeFileSync(folder.file('t.jsonl'), `${JSON.stringify(half)}\n`)
  const runs = Array.from({ length: 40 }, (_, index) => JSON.stringify({ ...transcript, id: `chat-${index}` }))
  writeFileSync(folder.file('all.jsonl'), runs.join('\n'))
  await runInProcess(['import', 't.jsonl', ...args], { cwd })
  const { stdout } = await runInProcess(['import', 'all.jsonl', ...args], { cwd })
  const { added, known } = JSON.parse(stdout)
  assert.equal({ added, known }, { added: 39, known: 1 })
})

importing.run()
