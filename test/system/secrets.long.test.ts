import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../schemas/names.ts'
import { createLedgerKeys, type LedgerKeys, writeNewKeyFile } from '../../src/signing/key-file.ts'
import { deriveRunKey } from '../../src/signing/key-ring.ts'
import { formatLedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { ApiClient } from '../support/api-client.ts'
import { type CommandResult, countersign } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { formsOf } from '../support/secret-forms.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('canary secrets')
const KEYS: LedgerKeys = {
  ...createLedgerKeys(new Date().toISOString(), randomBytes),
  tokenSecret: Uint8Array.from(randomBytes(32)),
}

/** Every secret there is, by a name that a failing test may print. */
function secretsOf(keys: LedgerKeys, run: string): ReadonlyMap<string, Uint8Array> {
  const seed = (key: LedgerKeys['checkpointKey']): Buffer =>
    Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')
  return new Map<string, Uint8Array>([
    ...keys.ring.keys.flatMap(({ kid, secret }): [string, Uint8Array][] => [
      [`secret of ${kid}`, secret],
      [`run key of ${kid}`, deriveRunKey(secret, 'acme', runStream('acme', run))],
    ]),
    ['checkpoint key', seed(keys.checkpointKey)],
    ...keys.tokenKeys.map(({ kid, privateKey }): [string, Uint8Array] => [`token key ${kid}`, seed(privateKey)]),
    ['token secret', keys.tokenSecret ?? new Uint8Array(0)],
  ])
}

/** What a process list shows; empty where the system has none in files. */
function commandLineOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`
  return existsSync(file) ? readFileSync(file, 'latin1') : ''
}

/** Names of the secrets and tokens that occur in a text. */
function found(text: string, tokens: readonly string[] = []): readonly string[] {
  const secrets = [...secretsOf(KEYS, 'r')].filter(([, bytes]) => formsOf(bytes).some((form) => text.includes(form)))
  const leaked = tokens.filter((token) => text.includes(token) || text.includes(token.split('.')[2] ?? token))
  return [...secrets.map(([name]) => name), ...leaked.map((token) => `token ${token.slice(0, 8)}`)]
}

/** Good and bad requests of every kind; gives everything that was answered. */
async function exercise(server: ServerProcess, client: ApiClient, token: string): Promise<string> {
  const answers: string[] = []
  const note = async (asked: Promise<{ text: string; headers: object }>): Promise<void> => {
    const { text, headers } = await asked
    answers.push(text, JSON.stringify(headers))
  }
  await note(client.post('/v1/runs', { id: 'r', name: 'r', budget: { tokens: 10 } }))
  const paths = [
    'envelopes',
    'calls',
    'reservations',
    'manifests',
    'usage',
    'rollback',
    'compensations',
    'complete',
    'none',
  ]
  const bodies = [
    { agent: 'a', payload: { entities: ['A'] } },
    { agent: 'a', payload: {} },
    { tool: 't', args: [1] },
    { agent: 'a', tokens: 99 },
    {},
  ]
  for (const path of paths)
    for (const body of bodies) await note(client.post(`/v1/runs/r/${path}`, body, { 'idempotency-key': path }))
  const reads = [
    '',
    '/context',
    '/events',
    '/calls',
    '/budget',
    '/findings',
    '/envelopes',
    '/manifests',
    '/export',
    '/replay',
    '/none',
  ]
  for (const path of reads) await note(client.get(`/v1/runs/r${path}`))
  const open = [
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/.well-known/jwks.json',
    '/problems/internal',
    '/v1/export',
  ]
  for (const path of [...open, '/v1/events', '/v1/runs?nope=1', `/v1/runs?access_token=${token}`, `/${token}`])
    await note(client.get(path))
  await note(client.get('/v1/runs/boom-throw'))
  await note(client.post('/v1/runs', 'no object', { 'content-type': 'text/plain' }))
  for (const wrong of [`${token}x`, token.slice(0, -4), `Basic ${token}`, token.split('.').slice(0, 2).join('.')]) {
    await note(server.clientOf(wrong).get('/v1/runs/r'))
  }
  return answers.join('\n')
}

test('the search itself finds each secret in each form, and a token by its signature', () => {
  for (const [name, bytes] of secretsOf(KEYS, 'r')) {
    for (const form of formsOf(bytes)) assert.ok(found(`x${form}y`).includes(name), name)
  }
  assert.is(found('a.b.signature-of-a-token', ['head.body.signature-of-a-token']).length, 1)
})

test('no key and no token is in an answer, a log, the metrics, an export, a file or the process list (A37, SEAL-12)', async () => {
  using folder = tempFolder()
  mkdirSync(folder.file('data'))
  writeNewKeyFile(folder.file('data/keys.json'), KEYS)
  const sabotage = new URL('sabotage-child.js', import.meta.url).href
  await using server = await startServer({
    data: folder.file('data'),
    args: ['--log-level', 'debug'],
    nodeArgs: ['--import', sabotage],
  })
  const token = await server.token()
  const client = server.clientOf(token)
  await client.post('/v1/runs', { id: 'boom-throw', name: 'r' })
  const answers = await exercise(server, client, token)
  assert.ok(answers.includes('"internal"'), 'also an error of the program was met')
  const commandLine = commandLineOf(server.pid)
  await server.stop()

  assert.equal(found(answers.replaceAll(`access_token=${token}`, '').replaceAll(`/${token}`, ''), [token]), [])
  assert.equal(found(server.output, [token]), [])
  assert.ok(server.output.includes('a token was refused'), 'the log was looked at')
  assert.equal(found(commandLine, [token]), [])
  const files = readdirSync(server.data).filter((name) => name !== 'keys.json')
  assert.ok(files.includes('store.db'))
  for (const name of files) assert.equal(found(readFileSync(join(server.data, name), 'latin1'), [token]), [], name)
})

test('the commands that read keys print none, and neither does the environment that holds them lead to one (A37)', async () => {
  using folder = tempFolder()
  mkdirSync(folder.file('data'))
  const env = { COUNTERSIGN_KEYS: formatLedgerKeys(KEYS) }
  await using server = await startServer({ data: folder.file('data'), env })
  const commandLine = commandLineOf(server.pid)
  const second = await countersign(['serve', '--port', '0', '--data', server.data], { env })
  await server.stop()
  const runs: Pick<CommandResult, 'stdout' | 'stderr'>[] = [second]
  for (const args of [
    ['keys', 'list'],
    ['keys', 'list', '--json'],
    ['keys', 'rotate'],
    ['verify', '--json'],
    ['replay', 'r'],
  ]) {
    runs.push(await runInProcess([...args, '--data', server.data], { env }))
  }
  const said = runs.map(({ stdout, stderr }) => stdout + stderr).join('\n')
  assert.ok(said.includes(KEYS.ring.keys[0]?.kid ?? 'none'), said)
  assert.equal(found(said + server.output + commandLine), [])
})

test('a key file that is broken is named and never quoted (A37)', async () => {
  const text = formatLedgerKeys(KEYS)
  const secret = Buffer.from(KEYS.ring.keys[0]?.secret ?? []).toString('base64url')
  const broken = [
    text.slice(0, text.length / 2),
    text.replace(`"${secret}"`, secret),
    text.replace(secret, `${secret}!`),
    text.replace('"ring"', `"${secret}"`),
    `${secret}`,
  ]
  using folder = tempFolder()
  for (const [index, each] of broken.entries()) {
    writeFileSync(folder.file('keys.json'), each, { mode: 0o600 })
    const place =
      index % 2 === 0 ? {} : { env: { COUNTERSIGN_KEYS: each.trimStart().startsWith('{') ? each : `{${each}` } }
    const result = await runInProcess(['token', '--scope', 'runs:read', '--data', folder.path], place)
    assert.is(result.code, 1)
    assert.equal(found(result.stdout + result.stderr), [], String(index))
    assert.is(result.stderr.trimEnd().split('\n').length, 1, result.stderr)
  }
})

test.run()
