/** @module Witnesses over HTTP. Their addresses are the operator's own settings; a redirect is not followed all the same. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Witness } from '../ledger/log/ask-witness.ts'
import { type NoteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { variableOf } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'

const ANSWER_MAX_MS = 10_000
const ANSWER_MAX_BYTES = 64 * 1024

/** A witness at its submission prefix. */
export function httpWitness(url: string, verifier: NoteVerifier): Witness {
  const postTo = (path: string) => async (body: string) => {
    const target = new URL(path, url.endsWith('/') ? url : `${url}/`)
    const signal = AbortSignal.timeout(ANSWER_MAX_MS)
    const response = await fetch(target, { method: 'POST', body, redirect: 'error', signal })
    return { status: response.status, body: await limitedText(response) }
  }
  return { url, verifier, add: postTo('add-checkpoint'), follow: postTo('add-successions') }
}

async function limitedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_MAX_BYTES) throw new Error(`its answer is longer than ${ANSWER_MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const WitnessFile = z.array(z.strictObject({ url: z.url({ protocol: /^https?$/ }), key: z.string() })).max(16)

/** The witnesses of a settings file `[{url, key}]`. Throws `SettingsError`. */
export function readWitnesses(path: string | undefined): readonly Witness[] {
  if (path === undefined) return []
  const file = WitnessFile.safeParse(parsed(path))
  if (!file.success) throw new SettingsError(`${variableOf('witnesses')}: ${path} is no JSON list of {url, key}`)
  return file.data.map(({ url, key }) => {
    const verifier = parseVerifierKey(key)
    if (verifier !== undefined) return httpWitness(url, verifier)
    throw new SettingsError(
      `${variableOf('witnesses')}: "${key}" is no verifier key: a witness prints its own at its start`,
    )
  })
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // Missing, unreadable or no JSON: one message says it all.
    return undefined
  }
}
