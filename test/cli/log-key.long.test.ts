/** @module `keys rotate --log`: a running ledger takes it up, what was signed before stays verifiable, and readers are told how to go on. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { foundLedger, runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('cli: keys rotate --log')

test('a running ledger signs with the new key; checkpoints, exports and bundles of before and after verify (LOG-28, LOG-29)', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const run = (...args: string[]) => runInProcess(args, { cwd })
  const data = folder.file('.countersign')
  const read = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args)
    assert.is(code, 0, stderr)
    return stdout
  }
  await foundLedger(cwd)
  const oldKey = await read('checkpoint', '--key')
  await using server = await startServer({ data, args: ['--checkpoint-seconds', '1'] })
  const token = (await read('token', '--scope', 'runs:write audit:read audit:export')).trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const remote = ['--url', server.url, '--token', token]
  const start = await fetch(`${server.url}/v1/runs`, { method: 'POST', headers, body: '{"id":"one","name":"try"}' })
  assert.is(start.status, 201)
  const published = () =>
    eventually(async () => ((await run('checkpoint')).code === 0 ? true : undefined), 'a checkpoint')
  await published()
  writeFileSync(folder.file('old-checkpoint'), await read('checkpoint'))
  await read('export', '--out', 'old.jsonl', ...remote)
  await read('export', '--bundle', 'old.tar', ...remote)

  const secret = /"d": "([^"]+)"/.exec(readFileSync(`${data}/keys.json`, 'utf8'))?.[1] ?? 'none'
  const rotated = await run('keys', 'rotate', '--log')
  assert.is(rotated.code, 0, rotated.stderr)
  assert.match(rotated.stderr, /auditors and witnesses/)
  assert.is(statSync(`${data}/keys.json`).mode & 0o777, 0o600)
  assert.not.ok(readFileSync(`${data}/keys.json`, 'utf8').includes(secret), 'the old private half is gone')
  await eventually(() => (server.output.includes('key of the log rotated') ? true : undefined), 'the new key')
  const newKey = await read('checkpoint', '--key')
  assert.not.equal(newKey, oldKey)
  const isNew = async () => (await (await fetch(`${server.url}/v1/log/key`, { headers })).text()) === newKey
  await eventually(async () => ((await isNew()) ? true : undefined), 'the new key over HTTP')
  await eventually(
    async () => ((await read('checkpoint')) !== readFileSync(folder.file('old-checkpoint'), 'utf8') ? true : undefined),
    'a checkpoint under the new key',
  )
  writeFileSync(folder.file('succession.json'), await read('checkpoint', '--successions'))
  const served = await (await fetch(`${server.url}/v1/log/successions`, { headers })).json()
  assert.equal(served, JSON.parse(readFileSync(folder.file('succession.json'), 'utf8')))
  await read('export', '--out', 'new.jsonl', ...remote)
  await read('export', '--bundle', 'new.tar', ...remote)

  await read('verify', '--checkpoint', 'old-checkpoint', '--data', data)
  for (const what of ['old.jsonl', 'new.jsonl', 'old.tar', 'new.tar']) await read('verify', what, '--data', data)

  const pins = ['--known-keys', folder.file('known')]
  await read('keys', 'pin', oldKey.trim(), ...pins)
  const foreign = ['--data', folder.file('elsewhere'), ...pins]
  // Without the ring's keys no mac is checked: what counts here is who signed that nothing is missing.
  const signedWith = (key: string) => new RegExp(`signed with ${key.trim().split('+').slice(0, 2).join('\\+')}`)
  const completeness = async (what: string, ...more: string[]) =>
    (await run('verify', what, ...foreign, ...more)).stdout
  assert.match(await completeness('old.jsonl'), signedWith(oldKey))
  assert.match(await read('verify', 'new.tar', ...foreign), /was rotated: .* keep that one/)
  const unknown = await run('verify', 'new.jsonl', ...foreign)
  assert.is(unknown.code, 3)
  assert.match(unknown.stdout, /key of this log was rotated.*keys pin.*--succession/s)

  const refused = await run('keys', 'pin', newKey.trim(), ...pins)
  assert.is(refused.code, 1)
  assert.match(refused.stderr, /--succession FILE/)
  await read('keys', 'pin', newKey.trim(), '--succession', 'succession.json', ...pins)
  for (const what of ['old.tar', 'new.tar']) await read('verify', what, ...foreign)
  assert.match(await completeness('old.jsonl'), signedWith(oldKey))
  assert.match(await completeness('new.jsonl', '--checkpoint', 'old-checkpoint'), signedWith(newKey))
})

test('a key of somebody else is not pinned behind the known one, whatever file comes along (A211)', async () => {
  using folder = tempFolder()
  using other = tempFolder()
  const pins = ['--known-keys', folder.file('known')]
  const run = (cwd: string, ...args: string[]) => runInProcess(args, { cwd })
  for (const { path } of [folder, other]) await foundLedger(path)
  const own = (await run(folder.path, 'checkpoint', '--key')).stdout.trim()
  assert.is((await run(other.path, 'keys', 'rotate', '--log')).code, 0)
  const [name = ''] = own.split('+')
  const stranger = (await run(other.path, 'checkpoint', '--key')).stdout.trim()
  assert.not.match(stranger, new RegExp(`^${name}\\+`), 'each ledger has its own origin')
  writeFileSync(folder.file('theirs.json'), (await run(other.path, 'checkpoint', '--successions')).stdout)
  await run(folder.path, 'keys', 'pin', own, ...pins)
  assert.is((await run(folder.path, 'keys', 'rotate', '--log')).code, 0)
  const next = (await run(folder.path, 'checkpoint', '--key')).stdout.trim()
  const { code, stderr } = await run(folder.path, 'keys', 'pin', next, '--succession', 'theirs.json', ...pins)
  assert.is(code, 1)
  assert.match(stderr, /no key .* names this one as its successor/)
  assert.is(readFileSync(folder.file('known'), 'utf8'), `${own}\n`)
})

test('the key of a log is not rotated before there is a ledger, nor with the keys of another one', async () => {
  using folder = tempFolder()
  using other = tempFolder()
  const run = (...args: string[]) => runInProcess(args, { cwd: folder.path })
  assert.is((await run('keys', 'create')).code, 0)
  const early = await run('keys', 'rotate', '--log')
  assert.is(early.code, 1)
  assert.match(early.stderr, /no ledger in this store yet/)
  await foundLedger(other.path)
  const foreign = await run(
    'keys',
    'rotate',
    '--log',
    '--data',
    other.file('.countersign'),
    '--keys',
    folder.file('.countersign/keys.json'),
  )
  assert.is(foreign.code, 1)
  assert.match(foreign.stderr, /did not found the ledger/)
  assert.is((await run('keys', 'rotate', '--log', '--tokens')).code, 2)
})

test.run()
