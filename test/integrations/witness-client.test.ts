import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { httpWitness, readWitnesses } from '../../src/integrations/witness-client.ts'
import { askWitness } from '../../src/ledger/log/ask-witness.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { SettingsError } from '../../src/settings/settings-error.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('witness client')

const KEY = noteVerifier('witness.example/w', generateKeyPairSync('ed25519').publicKey)

test('the file of witnesses names an address and a key each; anything else is refused with what it takes', () => {
  using folder = tempFolder()
  const path = folder.file('witnesses.json')
  const read = (content: unknown) => {
    writeFileSync(path, JSON.stringify(content))
    return readWitnesses(path)
  }
  assert.equal(readWitnesses(undefined), [])
  assert.equal(
    read([{ url: 'https://witness.example/w', key: KEY.text }]).map(({ verifier }) => verifier.text),
    [KEY.text],
  )
  const refused: readonly unknown[] = [
    {},
    [{ url: 'https://witness.example' }],
    [{ url: 'file:///etc/passwd', key: KEY.text }],
    [{ url: 'https://witness.example', key: 'no key' }],
    [{ url: 'https://witness.example', key: KEY.text, more: 1 }],
  ]
  for (const content of refused)
    assert.throws(
      () => read(content),
      (error: unknown) => error instanceof SettingsError,
    )
  assert.throws(() => readWitnesses(folder.file('absent.json')), /no JSON list of \{url, key, allow\?\}/)
})

test('a witness that redirects, or answers without end, counts as away', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/long/add-checkpoint') response.end('x'.repeat(100_000))
    else response.writeHead(307, { location: '/elsewhere' }).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    for (const path of ['', '/long']) {
      const question = { note: 'no note\n', knownSize: 0, proofFrom: () => [] }
      const answer = await askWitness(httpWitness(`${url}${path}`, KEY, { allow: ['127.0.0.1'] }), question)
      assert.is(answer.ok ? '' : answer.code, 'unreachable', path)
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('a witness whose name leads to an address that nobody named is not dialled, and counts as away (A242)', async () => {
  let dialled = 0
  const server = createServer((_, response) => {
    dialled += 1
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const lookup = async () => ['127.0.0.1']
    const witness = httpWitness(`http://witness.example:${port}`, KEY, { allow: [`witness.example:${port}`], lookup })
    const answer = await askWitness(witness, { note: 'no note\n', knownSize: 0, proofFrom: () => [] })
    assert.is(answer.ok ? '' : answer.code, 'unreachable')
    assert.match(answer.ok ? '' : answer.message, /127\.0\.0\.1/)
    assert.is(dialled, 0)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('a witness on another machine takes https, or the addresses that it has in its entry (A242)', () => {
  using folder = tempFolder()
  const path = folder.file('witnesses.json')
  const read = (...entries: readonly object[]) => {
    writeFileSync(path, JSON.stringify(entries.map((entry) => ({ ...entry, key: KEY.text }))))
    return readWitnesses(path).length
  }
  for (const url of ['http://witness.example/w', 'http://10.0.0.5:8080', 'https://10.0.0.5'])
    assert.throws(() => read({ url }), /COUNTERSIGN_WITNESSES: .*"allow" of http/)
  assert.throws(() => read({ url: 'http://w.internal', allow: ['10.0.0.0/99'] }), /"allow" of http:\/\/w\.internal: /)
  const local = [{ url: 'http://localhost:8080' }, { url: 'http://127.0.0.1:8080' }]
  const named = [
    { url: 'http://w.internal', allow: ['10.0.0.0/8'] },
    { url: 'http://10.0.0.5:8080', allow: ['10.0.0.5'] },
  ]
  assert.is(read(...local, ...named, { url: 'https://witness.example/w' }), 5)
})

test.run()
