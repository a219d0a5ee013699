/** @module `countersign witness`: cosigns checkpoints of the logs that it knows, so that no log can show two readers different histories. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseVerifierKey } from '../merkle/note-key.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { jsonLine, oneLine } from './shown.ts'
import { openWitness, type Witness } from './witness-state.ts'

/** C2SP: far more than a note with 100 signatures and 63 proof lines needs. */
const BODY_MAX_BYTES = 64 * 1024
const REQUEST_MAX_MS = 10_000
const NAME_DEFAULT = 'countersign.local/witness'

export async function witness({ settings, text, has }: Arguments): Promise<number> {
  const logs = (text('log') ?? '').split(',').filter((key) => key !== '')
  const verifiers = logs.map((key) => parseVerifierKey(key) ?? refuseKey(key))
  if (verifiers.length === 0)
    throw usageFailure('--log is missing: name the verifier keys of the logs to witness, with commas between')

  const onEvidence = (path: string): void => {
    process.stderr.write(`countersign witness: a log signed two histories: ${oneLine(path)} holds both signed notes\n`)
  }
  const opened = openWitness({ folder: settings.data, name: text('name') ?? NAME_DEFAULT, verifiers, onEvidence })
  const server = serveWitness(opened)
  server.listen(settings.port, settings.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { verifierKey } = opened
  const url = `http://${settings.host}:${port}/add-checkpoint`
  process.stdout.write(has('json') ? jsonLine({ verifierKey, url }) : `${verifierKey}\n`)
  process.stderr.write(`witness of ${verifiers.length} logs at ${url}\n`)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
  server.close()
  server.closeAllConnections()
  return EXIT.ok
}

function refuseKey(key: string): never {
  throw usageFailure(`--log: "${key}" is no verifier key`)
}

const ANSWERS = { '/add-checkpoint': 'add', '/add-successions': 'follow' } as const

function isAnswered(path: string): path is keyof typeof ANSWERS {
  return Object.hasOwn(ANSWERS, path)
}

export function serveWitness(opened: Witness): Server {
  return createServer({ requestTimeout: REQUEST_MAX_MS }, (request, response) => {
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
    }
    const path = request.url ?? ''
    if (!isAnswered(path)) return answer(404, 'there are /add-checkpoint and /add-successions\n')
    if (request.method !== 'POST') return answer(405, 'POST only\n')
    readBody(request)
      .then((body) => {
        if (body === undefined) return answer(413, `at most ${BODY_MAX_BYTES} bytes\n`)
        const { status, body: text, contentType } = opened[ANSWERS[path]](body)
        answer(status, text, contentType)
      })
      .catch((error: NodeJS.ErrnoException) => {
        // The client has disconnected.
        if (error.code === 'ECONNRESET') return
        process.stderr.write(`countersign witness: ${oneLine(error.message)}\n`)
        answer(500, 'the witness failed: nothing was cosigned\n')
      })
  })
}

/** Undefined if the body is too long. Invalid UTF-8 decodes to another text, which no signature matches. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_MAX_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
