/** @module Witnesses over HTTP, at configured addresses. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { dialFailure } from '../egress/dial-failure.ts'
import { guardedFetch, type TrustOptions } from '../egress/guarded-fetch.ts'
import type { Witness } from '../ledger/log/ask-witness.ts'
import { type NoteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { guardedTarget } from '../settings/guarded-target.ts'
import { variableOf } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'

const ANSWER_MAX_MS = 10_000
const ANSWER_MAX_BYTES = 64 * 1024

/**
 * A witness at its submission prefix, through the guarded `fetch`: only this address is connected to, and redirects are refused. Throws `DialError` for an
 * invalid `allow`.
 */
export function httpWitness(
  url: string,
  verifier: NoteVerifier,
  trust: Pick<TrustOptions, 'allow' | 'lookup'>,
): Witness {
  const fetch = guardedFetch({ ...trust, timeoutMs: ANSWER_MAX_MS, maxResponseBytes: ANSWER_MAX_BYTES })
  const postTo = (path: string) => async (body: string) => {
    try {
      const response = await fetch(new URL(path, url.endsWith('/') ? url : `${url}/`), { method: 'POST', body })
      return { status: response.status, body: await response.text() }
    } catch (error) {
      throw new Error(dialFailure(error, ANSWER_MAX_MS))
    }
  }
  return { url, verifier, add: postTo('add-checkpoint'), follow: postTo('add-successions') }
}

const WitnessFile = z
  .array(
    z.strictObject({
      url: z.url({ protocol: /^https?$/ }),
      key: z.string(),
      /** Non-public addresses to which the host may resolve. */
      allow: z.array(z.string()).optional(),
    }),
  )
  .max(16)

/** Reads the witnesses of a settings file `[{url, key, allow?}]`. Throws `SettingsError`. */
export function readWitnesses(path: string | undefined): readonly Witness[] {
  if (path === undefined) return []
  const file = WitnessFile.safeParse(parsed(path))
  if (!file.success)
    throw new SettingsError(`${variableOf('witnesses')}: ${path} is no JSON list of {url, key, allow?}`)
  return file.data.map(({ url, key, allow = [] }) => {
    const verifier = parseVerifierKey(key)
    const target = guardedTarget({ url, allow, setting: 'witnesses', allowIn: `"allow" of ${url}` })
    if (verifier !== undefined) return httpWitness(url, verifier, { allow: target })
    throw new SettingsError(
      `${variableOf('witnesses')}: "${key}" is no verifier key: a witness prints its own at its start`,
    )
  })
}

function parsed(path: string): unknown {
  try {
    return parseJson(readFileSync(path, 'utf8'))
  } catch {
    // The file is missing, unreadable or not JSON; one error message covers all three.
    return undefined
  }
}
