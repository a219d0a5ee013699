import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { BIN, cleanEnv, collected, endOf, spawnTracked } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { inspectedLedger } from '../support/inspected-ledger.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const inspect = suite('cli: the inspector beside a server')
const folder = tempFolder()
inspect.after(() => folder[Symbol.dispose]())
const cwd = folder.path
inspect.before(() => inspectedLedger(join(cwd, '.countersign')))

/** Looks until it is so; the test's own time limit ends what never comes. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
}

const rowsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

async function rows(...args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const { code, stdout, stderr } = await runInProcess(args, { cwd })
  assert.is(code, 0, stderr)
  assert.is(stderr, '')
  return rowsOf(stdout)
}

inspect(
  'no lock is taken and nothing is written: the inspector looks at a store beside its owner, or asks the owner',
  async () => {
    await using served = await startServer({ data: folder.file('.countersign') })
    const beside = await rows('runs', 'list')
    assert.is(beside.length, 2)
    const token = (await runInProcess(['token', '--scope', 'audit:read runs:write'], { cwd })).stdout.trim()
    const env = { COUNTERSIGN_TOKEN: token }
    const asked = await runInProcess(['audit', 'rejections', '--url', served.url], { cwd, env })
    assert.equal(
      rowsOf(asked.stdout).map(({ actor }) => actor),
      ['mallory'],
    )
    const again = await runInProcess(['audit', 'access', '--url', served.url], { cwd, env })
    assert.equal(
      rowsOf(again.stdout).map(({ query, actor }) => [query, actor]),
      [['audit/rejections', 'local']],
    )
    const rewound = await runInProcess(['runs', 'rollback', 'r', '--reason', 'a test', '--url', served.url], {
      cwd,
      env,
    })
    assert.is(rowsOf(rewound.stdout)[0]?.toStep, 1)
    const locked = await runInProcess(['runs', 'rollback', 'r', '--reason', 'a test'], { cwd })
    assert.is(locked.code, 1)
    assert.match(locked.stderr, new RegExp(served.url))
  },
)

inspect(
  'a call in doubt is found and resolved, of a running ledger and on the store; a second word is refused (F111)',
  async () => {
    const token = (await runInProcess(['token', '--scope', 'audit:read runs:write'], { cwd })).stdout.trim()
    const call = async (url: string, path: string, body: object): Promise<JsonObject> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${url}/v1/runs${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await response.json()) as JsonObject
    }
    const ids: string[] = []
    {
      await using served = await startServer({ data: folder.file('.countersign') })
      await call(served.url, '', { id: 'doubtful', name: 'doubtful' })
      for (const n of [1, 2]) {
        const { callId } = await call(served.url, '/doubtful/calls', { tool: 'pay', args: { n } })
        await call(served.url, `/doubtful/calls/${callId}/settle`, { fence: 1, unknown: { reason: 'broke' } })
        ids.push(String(callId))
      }
      const there = ['--url', served.url, '--token', token]
      const listed = await runInProcess(['calls', 'list', '--in-doubt', ...there], { cwd })
      assert.equal(
        rowsOf(listed.stdout)
          .filter(({ runId }) => runId === 'doubtful')
          .map(({ callId, args }) => [callId, args]),
        [
          [ids[0], { n: 1 }],
          [ids[1], { n: 2 }],
        ],
      )
      const said = ['--executed', '--result', '{"payment":"p-7"}', '--reason', 'on the statement']
      const resolve = ['calls', 'resolve', 'doubtful', ids[0] ?? '']
      assert.is((await runInProcess([...resolve, ...said, ...there], { cwd })).code, 0)
      assert.is((await runInProcess([...resolve, ...said, ...there], { cwd })).code, 0, 'the same again')
      const other = await runInProcess([...resolve, '--not-executed', '--reason', 'x', ...there], { cwd })
      assert.is(other.code, 1)
      assert.match(other.stderr, /resolved before, in another way/)
    }
    const left = (await rows('calls', 'list', '--in-doubt')).filter(({ runId }) => runId === 'doubtful')
    assert.equal(
      left.map(({ callId }) => callId),
      [ids[1]],
    )
    const resolved = await rows('calls', 'resolve', 'doubtful', ids[1] ?? '', '--not-executed', '--reason', 'not there')
    assert.is(resolved[0]?.status, 'failed')
    assert.equal(
      (await rows('calls', 'list')).filter(({ runId }) => runId === 'doubtful'),
      [],
    )
    assert.is((await runInProcess(['verify'], { cwd })).code, 0)
  },
)

inspect('a tail that follows shows what comes while it looks, and ends well when it is interrupted', async () => {
  await using served = await startServer({ data: folder.file('.countersign') })
  for (const asks of [true, false]) {
    const token = (await runInProcess(['token', '--scope', 'audit:read runs:write'], { cwd })).stdout.trim()
    const args = [BIN, 'tail', '-f', '--lines', '1', ...(asks ? ['--url', served.url, '--token', token] : [])]
    const child = spawnTracked([process.execPath, ...args], { cwd, env: cleanEnv(), stdio: 'pipe' })
    const output = collected(child)
    const ended = endOf(child)
    await until(() => output.stdout.includes('\n'))
    const id = `late-${asks}`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await fetch(`${served.url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify({ id, name: 'late' }) })
    await until(() => output.stdout.includes(`"run":"${id}"`))
    child.kill('SIGINT')
    assert.is((await ended).code, 0, output.stderr)
    const seen = rowsOf(output.stdout).filter(({ run }) => run === id)
    assert.equal(
      seen.map(({ type }) => type),
      ['RunStarted'],
    )
  }
})

inspect('a store with the record of its reads verifies, whole and against its last checkpoint', async () => {
  {
    await using _ = await startServer({ data: folder.file('.countersign') })
  }
  const { code, stdout } = await runInProcess(['verify'], { cwd })
  assert.is(code, 0, stdout)
  const access = await rows('events', '--types', 'AccessRecorded')
  assert.ok(access.length > 0)
})

inspect.run()
