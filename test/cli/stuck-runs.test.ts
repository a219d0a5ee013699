import { stripVTControlCharacters } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runInProcess } from '../support/in-process-command.ts'
import { servedLedger } from '../support/served-ledger.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: runs that are stuck')

test('runs list --stuck is a table of run, name, why, since when and attempts on a terminal, and the row as JSON elsewhere (HTTP-87); runs retry makes one due at once (RUN-286)', async () => {
  using folder = tempFolder()
  await using served = await servedLedger(folder.file('data'), 'acme')
  const [, url, , token] = served.there
  let count = 0
  const post = async (path: string, body: object): Promise<{ fence?: number }> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': `${count++}`,
    }
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.clone().text())
    return (await answer.json()) as { fence?: number }
  }
  await post('/v1/runs', { id: 'free', name: 'order' })
  const worker = { fence: 1, holdMs: 60_000 }
  await post('/v1/runs', { id: 'r-17', name: 'order', after: '2026-01-01T00:00:00Z' })
  const { fence } = await post('/v1/runs', { id: 'r-17', name: 'order', worker })
  const error = { code: 'resume-diverged', message: 'other code' }
  await post('/v1/runs/r-17/leave', { because: 'stuck', error, retryAfterMs: 60_000, runFence: fence })

  const piped = await runInProcess(['runs', 'list', '--stuck', ...served.there])
  const row = JSON.parse(piped.stdout)
  assert.equal([row.runId, row.stuck.code, row.stuck.attempts], ['r-17', 'resume-diverged', 1])
  const shown = await onTerminal(() => runInProcess(['runs', 'list', '--stuck', ...served.there]))
  const since = row.stuck.since.replace(/\.\d+Z$/, 'Z')
  assert.is(shown.code, 0, shown.stderr)
  const cells = stripVTControlCharacters(shown.stdout)
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  assert.equal(cells, [
    ['runId', 'name', 'why', 'since', 'attempts'],
    ['r-17', 'order', 'resume-diverged: other code', since, '1'],
  ])

  // Once the code is mended, nobody has to wait for the end of the pause.
  const due = async (): Promise<readonly string[]> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}/v1/runs?due=true&name=order`, { headers })
    return ((await answer.json()) as { items: { runId: string }[] }).items.map(({ runId }) => runId)
  }
  assert.equal(await due(), [])
  const retried = await runInProcess(['runs', 'retry', 'r-17', ...served.there])
  assert.is(JSON.parse(retried.stdout).because, 'retry', retried.stderr)
  assert.equal(await due(), ['r-17'])
  const again = await runInProcess(['runs', 'retry', 'r-17', ...served.there])
  assert.match(again.stderr, /the run is not stuck/)
})

async function onTerminal<T>(work: () => Promise<T>): Promise<T> {
  const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY')
  Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true })
  try {
    return await work()
  } finally {
    if (before === undefined) Reflect.deleteProperty(process.stdout, 'isTTY')
    else Object.defineProperty(process.stdout, 'isTTY', before)
  }
}

test.run()
