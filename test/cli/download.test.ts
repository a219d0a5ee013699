import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Download, downloaded } from '../../src/cli/download.ts'
import { CliFailure } from '../../src/cli/failure.ts'

const test = suite('cli: download')
const WHOLE = Buffer.from(Array.from({ length: 4_000 }, (_, n) => `line ${n}\n`).join(''))

interface Cutting extends AsyncDisposable {
  readonly download: Download
  readonly requests: readonly string[]
}

/** Serves the bytes from `offset` on, and cuts the line after `most` of them unless little is left. */
async function cutting(most: number, first: (n: number) => number | undefined = () => undefined): Promise<Cutting> {
  const requests: string[] = []
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '')
    const status = first(requests.length)
    if (status !== undefined) {
      response.writeHead(status, { 'retry-after': '0', 'content-type': 'application/problem+json' })
      response.end('{"code":"why","detail":"because"}')
      return
    }
    const offset = Number(new URL(request.url ?? '', 'http://x').searchParams.get('offset') ?? 0)
    const rest = WHOLE.subarray(offset)
    response.writeHead(200, { 'countersign-export-cursor': 'c1' })
    if (rest.length <= most) response.end(rest)
    else response.write(rest.subarray(0, most), () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    download: { url: `http://127.0.0.1:${port}/v1/export?format=jsonl`, token: 't' },
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function all(download: Download): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of downloaded(download)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function failureOf(download: Download): Promise<CliFailure> {
  try {
    await all(download)
  } catch (error) {
    if (error instanceof CliFailure) return error
  }
  throw new Error('it was not refused')
}

test('a line that is cut again and again gives the whole, each time from where it stopped', async () => {
  await using server = await cutting(9_000)
  assert.ok((await all(server.download)).equals(WHOLE))
  assert.ok(server.requests.length > 3)
  assert.ok(server.requests.slice(1).every((path) => /&cursor=c1&offset=\d+$/.test(path)))
})

test('where the ledger says to wait, it waits; a refusal is said with its code', async () => {
  await using busy = await cutting(1e9, (n) => (n < 3 ? 503 : undefined))
  assert.ok((await all(busy.download)).equals(WHOLE))
  await using refusing = await cutting(1e9, () => 403)
  const { message, exitCode } = await failureOf(refusing.download)
  assert.equal([exitCode, /403 why.*because/.test(message)], [1, true])
})

test('a download without further bytes ends with exit code 4, never as if it were whole', async () => {
  await using server = await cutting(0, (n) => (n > 2 ? 503 : undefined))
  const { exitCode } = await failureOf(server.download)
  assert.is(exitCode, 4)
})

test.run()
