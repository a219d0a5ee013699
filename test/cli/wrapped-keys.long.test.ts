import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { foundLedger } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('cli: keys that another program keeps')

/** Keeps its key where no copy of the data folder has it. What it does is in the file `mode`. */
const KEEPER = `
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
const [place, verb] = process.argv.slice(2)
const mode = readFileSync(place + '/mode', 'utf8')
if (mode === 'refuses') { console.error('no credentials'); process.exit(4) }
if (mode === 'hangs') {
  writeFileSync(place + '/hanging', String(process.pid))
  await new Promise((resolve) => setTimeout(resolve, 2 ** 30))
}
const key = readFileSync(place + '/key')
const cipher = (verb === 'wrap' ? createCipheriv : createDecipheriv)('aes-256-ctr', key, Buffer.alloc(16))
const result = Buffer.concat([cipher.update(readFileSync(0)), cipher.final()])
process.stdout.write(mode === 'forgets' && verb === 'unwrap' ? result.subarray(1) : result)
`

class Keeper {
  readonly #folder: TempFolder
  readonly keys: string

  constructor(folder: TempFolder, key: string) {
    this.#folder = folder
    writeFileSync(folder.file('keeper.mjs'), KEEPER)
    writeFileSync(folder.file('key'), key.repeat(32))
    this.keys = `exec:${process.execPath} ${folder.file('keeper.mjs')} ${folder.path}`
    this.does('serves')
  }

  does(mode: 'serves' | 'refuses' | 'hangs' | 'forgets'): void {
    writeFileSync(this.#folder.file('mode'), mode)
  }

  /** The process that hangs. */
  hanging(): number | undefined {
    const path = this.#folder.file('hanging')
    return (existsSync(path) && Number(readFileSync(path, 'utf8'))) || undefined
  }
}

function secretsIn(text: string): readonly string[] {
  return [...text.matchAll(/"(?:secret|d)": "([^"]+)"/g)].map(([, secret]) => secret ?? '')
}

function allBytes(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('\n')
}

test('a copy of the data folder has no key: it starts nothing, seals nothing, and makes no token (LIFE-70)', async () => {
  using folder = tempFolder()
  using outside = tempFolder()
  using stranger = tempFolder()
  const keeper = new Keeper(outside, 'k')
  const data = folder.file('data')
  const place = ['--data', data, '--keys', keeper.keys]
  await using server = await startServer({ data, args: ['--keys', keeper.keys] })
  const made = await countersign(['token', '--scope', 'runs:write runs:read', ...place])
  const client = server.clientOf(made.stdout.trim())
  assert.is((await client.post('/v1/runs', { id: 'a', name: 'n' })).status, 201)

  const copy = folder.file('copy')
  cpSync(data, copy, { recursive: true })
  assert.is((await countersign(['keys', 'unwrap', '--data', copy, '--keys', keeper.keys])).code, 0)
  const secrets = secretsIn(readFileSync(join(copy, 'keys.json'), 'utf8'))
  assert.is(secrets.length, 3)
  const isIn = (bytes: string) => secrets.some((secret) => bytes.includes(secret))
  assert.ok(isIn(allBytes(copy)), 'the search must find them where they are')
  assert.is(isIn(allBytes(data) + server.output), false)

  for (const [keys, said] of [
    [[], /keys\.json is encrypted under a key of another program; name that program: --keys exec:COMMAND/],
    [['--keys', new Keeper(stranger, 's').keys], /does not open .*keys\.json; name the program, and its key/],
  ] as const) {
    for (const command of [
      ['token', '--scope', 'admin'],
      ['serve', '--port', '0'],
      ['keys', 'rotate'],
    ]) {
      const { code, stderr, stdout } = await countersign([...command, '--data', data, ...keys])
      assert.ok(code !== 0, command.join(' '))
      assert.match(stderr + stdout, said)
    }
  }
  await server.stop()
  const verified = await countersign(['verify', '--json', ...place])
  assert.is(verified.code, 0, verified.stderr)
})

test('a rotation is taken up by a running ledger, which a program that hangs does not hold up (LIFE-71)', async () => {
  using folder = tempFolder()
  using served = tempFolder()
  using operator = tempFolder()
  const ofServer = new Keeper(served, 'k')
  const data = folder.file('data')
  const place = ['--data', data, '--keys', new Keeper(operator, 'k').keys]
  const env = { COUNTERSIGN_READ_THREADS: '1' }
  await using server = await startServer({ data, args: ['--keys', ofServer.keys], env })
  const token = (await countersign(['token', '--scope', 'runs:write runs:read', ...place])).stdout.trim()
  const client = server.clientOf(token)
  const sealedBy = async (id: string): Promise<string> => {
    assert.is((await client.post('/v1/runs', { id, name: 'n' })).status, 201)
    return (await client.get(`/v1/runs/${id}/events`)).text
  }
  const rotate = async (): Promise<string> => (await countersign(['keys', 'rotate', ...place])).stdout.trim()

  const second = await rotate()
  await eventually(() => server.output.includes(second) || undefined, 'the second key')
  assert.ok((await sealedBy('after')).includes(`"${second}"`))

  ofServer.does('hangs')
  const third = await rotate()
  const hanging = await eventually(() => ofServer.hanging(), 'a program that hangs')
  assert.ok((await sealedBy('meanwhile')).includes(`"${second}"`))
  ofServer.does('serves')
  process.kill(hanging, 'SIGKILL')
  await eventually(() => server.output.includes('the key file cannot be read again') || undefined, 'the failure')
  await eventually(() => server.output.includes(third) || undefined, 'the third key')
  assert.ok((await sealedBy('last')).includes(`"${third}"`))
  await server.stop()
  assert.is((await countersign(['verify', ...place])).code, 0)
})

test('keys that could not be had again are not written: the file stays as it was (LIFE-72)', async () => {
  using folder = tempFolder()
  using outside = tempFolder()
  const keeper = new Keeper(outside, 'k')
  await foundLedger(folder.path)
  const data = folder.file('.countersign')
  const place = ['--data', data, '--keys', keeper.keys]
  const file = () => readFileSync(join(data, 'keys.json'), 'utf8')
  const plain = file()
  for (const [mode, said] of [
    ['refuses', / wrap: it ended with 4: no credentials/],
    ['forgets', /does not unwrap what it wraps/],
  ] as const) {
    keeper.does(mode)
    const { code, stderr } = await countersign(['keys', 'wrap', ...place])
    assert.is(code, 1)
    assert.match(stderr, said)
    assert.is(file(), plain)
  }
  keeper.does('serves')
  const early = await countersign(['keys', 'list', ...place])
  assert.match(
    early.stderr,
    /is not encrypted, and --keys names a program for it; encrypt it with "countersign keys wrap"/,
  )
  assert.is((await countersign(['keys', 'wrap', ...place])).code, 0)
  assert.is(
    secretsIn(plain).some((secret) => file().includes(secret)),
    false,
  )
  assert.is((await countersign(['keys', 'list', ...place])).code, 0)
  assert.is((await countersign(['keys', 'unwrap', ...place])).code, 0)
  assert.is(file(), plain)
  const { code, stderr } = await countersign(['keys', 'list', '--data', data, '--keys', 'exec: '])
  assert.is(code, 2)
  assert.match(stderr, /exec: is followed by a program/)
})

test.run()
