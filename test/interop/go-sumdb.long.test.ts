import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign, runCommand } from '../support/command-line.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { ROOT } from '../support/source-root.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('interop: the log, checked by the tools of the Go checksum database')

/** Where Debian's packages put Go sources (golang-golang-x-mod-dev); another place is named by GOPATH. */
const GO_SOURCES = process.env.GOPATH ?? '/usr/share/gocode'
const HANDOFFS = 300
/** Compiled and run; undefined where there is no Go, or not its module. */
async function checkLog(
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; said: string } | undefined> {
  const env = { ...process.env, GOPATH: GO_SOURCES, GO111MODULE: 'off', GOCACHE: `${cwd}/go-cache`, GOFLAGS: '' }
  try {
    const packages = await runCommand(['go', 'list', 'golang.org/x/mod/sumdb/tlog'], { env, cwd })
    if (packages.code !== 0) return undefined
  } catch {
    return undefined
  }
  const source = join(ROOT, 'test/interop/check_log.go')
  const { code, stdout, stderr } = await runCommand(['go', 'run', source, ...args], { env, cwd })
  return { code, said: stdout + stderr }
}

async function keyOf({ url }: ServerProcess, token: string): Promise<string> {
  return (await fetch(`${url}/v1/log/key`, { headers: { authorization: `Bearer ${token}` } })).text()
}

async function fill({ url }: ServerProcess, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.text())
  }
  await post('runs', { id: 'one', name: 'interop' })
  for (let from = 0; from < HANDOFFS; from += 100) {
    const items = Array.from({ length: 100 }, (_, i) => {
      return { run: 'one', op: 'envelope', body: { agent: 'writer', payload: { step: from + i } } }
    })
    await post('batch', { items })
  }
}

test('checkpoint, tiles, entries and every proof are what golang.org/x/mod/sumdb takes, also behind a rotation of the key', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await using server = await startServer({ data: folder.file('.countersign'), args: ['--checkpoint-seconds', '1'] })
  const made = await countersign(['token', '--scope', 'runs:write audit:read'], { cwd })
  const token = made.stdout.trim()
  await fill(server, token)
  const size = await eventually(async () => {
    const answer = await fetch(`${server.url}/v1/log/checkpoint`, { headers: { authorization: `Bearer ${token}` } })
    const published = answer.ok ? Number((await answer.text()).split('\n')[1]) : 0
    return published > HANDOFFS ? published : undefined
  }, 'a checkpoint over all handoffs')
  const checked = await checkLog([server.url, token], cwd)
  if (checked === undefined) return void process.stdout.write('skipped: no Go with golang.org/x/mod here\n')
  assert.is(checked.code, 0, checked.said)
  assert.is(checked.said, `${size} records, ${size} inclusion proofs, ${size} consistency proofs\n`)

  const before = await keyOf(server, token)
  assert.is((await countersign(['keys', 'rotate', '--log'], { cwd })).code, 0)
  const grown = await eventually(async () => {
    const answer = await fetch(`${server.url}/v1/log/checkpoint`, { headers: { authorization: `Bearer ${token}` } })
    const published = Number((await answer.text()).split('\n')[1])
    return published > size && (await keyOf(server, token)) !== before ? published : undefined
  }, 'a checkpoint under the new key')
  const again = await checkLog([server.url, token], cwd)
  assert.is(again?.said, `${grown} records, ${grown} inclusion proofs, ${grown} consistency proofs\n`)
})

test.run()
