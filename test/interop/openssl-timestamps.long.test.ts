/** @module Time-stamps of checkpoints from end to end: a server, an authority that is `openssl ts -reply`, and `openssl ts -verify` of what comes of it. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { unpackTar } from '../support/bundles.ts'
import { countersign, runCommand } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('interop: time-stamps, checked by openssl')

const CONFIG = `[tsa]
default_tsa = own
[own]
serial = ./serial
signer_cert = ./tsa.pem
signer_key = ./tsa.key
certs = ./ca.pem
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[request]
distinguished_name = name
[name]
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[stamping]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
`

/** What openssl makes of a command; undefined where there is none. */
async function openssl(folder: TempFolder, ...args: readonly string[]) {
  return runCommand(['openssl', ...args], {
    cwd: folder.path,
    env: { ...process.env, OPENSSL_CONF: folder.file('tsa.cnf') },
  })
}

async function foundAuthority(folder: TempFolder): Promise<void> {
  const made = async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await openssl(folder, ...args)
    assert.is(code, 0, `${args.join(' ')}: ${stderr}`)
  }
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'] as const
  const of = ['-config', 'tsa.cnf', '-extensions'] as const
  await made(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=throw-away',
    '-days',
    '30',
    ...of,
    'ca',
  )
  await made('req', ...key, '-keyout', 'tsa.key', '-out', 'tsa.csr', '-subj', '/CN=tsa.test', '-config', 'tsa.cnf')
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '20', '-extfile', 'tsa.cnf'] as const
  await made('x509', '-req', '-in', 'tsa.csr', '-out', 'tsa.pem', ...signed, '-extensions', 'stamping')
}

/** One request after another: they share a file of serial numbers. */
async function authorityIn(folder: TempFolder) {
  let last: Promise<unknown> = Promise.resolve()
  const answered = async (request: Buffer): Promise<Buffer> => {
    writeFileSync(folder.file('request.tsq'), request)
    const { code, stderr } = await openssl(
      folder,
      'ts',
      '-reply',
      '-config',
      'tsa.cnf',
      '-queryfile',
      'request.tsq',
      '-out',
      'reply.tsr',
    )
    assert.is(code, 0, stderr)
    return readFileSync(folder.file('reply.tsr'))
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      last = last
        .then(() => answered(Buffer.concat(chunks)))
        .then(
          (reply) => response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(reply),
          (error: unknown) => response.writeHead(500).end(String(error)),
        )
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, [Symbol.asyncDispose]: close }
}

test('openssl ts -verify agrees with every time-stamp that leaves the ledger, and finds another text (LOG-32, LOG-34)', async () => {
  using folder = tempFolder()
  writeFileSync(folder.file('tsa.cnf'), CONFIG)
  writeFileSync(folder.file('serial'), '01\n')
  const version = await openssl(folder, 'version').catch(() => undefined)
  if (version?.code !== 0) return console.log('SKIP openssl is not installed: nothing to hold time-stamps against')
  await foundAuthority(folder)
  await using authority = await authorityIn(folder)
  const args = ['--checkpoint-seconds', '1', '--timestamp-url', authority.url]
  await using server = await startServer({ data: folder.file('data'), args })
  const client = await server.client()
  await client.post('/v1/runs', { id: 'one', name: 'stamped' })
  const stamped = await eventually(async () => {
    const answer = await client.get('/v1/log/timestamp')
    return answer.status === 200 ? (answer.body as { checkpoint: string; reply: string }) : undefined
  }, 'the time-stamp')
  const agrees = async (data: string, reply: string): Promise<boolean> => {
    const { code, stdout, stderr } = await openssl(
      folder,
      'ts',
      '-verify',
      '-data',
      data,
      '-in',
      reply,
      '-CAfile',
      'ca.pem',
    )
    assert.is(code === 0, /Verification: OK/.test(stdout + stderr))
    return code === 0
  }
  writeFileSync(folder.file('api.txt'), stamped.checkpoint)
  writeFileSync(folder.file('api.tsr'), Buffer.from(stamped.reply, 'base64'))
  assert.ok(await agrees('api.txt', 'api.tsr'))
  writeFileSync(folder.file('other.txt'), `${stamped.checkpoint}\n`)
  assert.not(await agrees('other.txt', 'api.tsr'))

  const data = ['--data', folder.file('data'), '--tenant', 'acme']
  const written = await countersign(['checkpoint', '--timestamp', folder.file('kept'), ...data])
  assert.is(written.code, 0, written.stderr)
  assert.match(written.stdout, /openssl ts -verify -data .*timestamp.txt -in .*timestamp.tsr/)
  assert.ok(await agrees('kept/timestamp.txt', 'kept/timestamp.tsr'))

  const headers = { authorization: `Bearer ${await server.token()}` }
  const bundle = await fetch(`${server.url}/v1/bundle`, { headers })
  assert.is(bundle.status, 200)
  writeFileSync(folder.file('bundle.tar'), Buffer.from(await bundle.arrayBuffer()))
  for (const [name, content] of await unpackTar(readFileSync(folder.file('bundle.tar'))))
    if (name.startsWith('timestamp.')) writeFileSync(folder.file(name), content)
  assert.ok(await agrees('timestamp.txt', 'timestamp.tsr'))
  const key = (await client.get('/v1/log/key')).text.trim()
  const verified = await countersign([
    'verify',
    folder.file('bundle.tar'),
    '--key',
    key,
    '--timestamp-ca',
    folder.file('ca.pem'),
  ])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
  assert.match(verified.stdout, /signed by tsa.test/)
})

test.run()
