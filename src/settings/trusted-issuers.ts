/** @module The trusted issuers of tokens, in addition to our own, from a file: an issuer that is removed from the file loses trust without a restart. */

import { readFileSync } from 'node:fs'
import { parseJson } from '../../schemas/json.ts'
import { assertTrust, type TrustedIssuer } from '../signing/tokens.ts'
import type { Settings } from './config.ts'
import { variableOf } from './settings.ts'
import { SettingsError } from './settings-error.ts'
import { type WatchedFile, watchFile } from './watch-file.ts'

/** Throws `SettingsError` or `TokenTrustError` if the file cannot be used. */
export function watchTrustedIssuers(
  { trustedIssuers: path, issuer }: Pick<Settings, 'trustedIssuers' | 'issuer'>,
  log: { error(fields: object, message: string): void },
): WatchedFile<readonly TrustedIssuer[]> {
  if (path === undefined) return { current: () => [], onChange: () => () => {}, [Symbol.dispose]: () => {} }
  const read = (from: string): readonly TrustedIssuer[] => {
    const trusted = readTrustedIssuers(from)
    assertTrust({ issuer, trusted })
    return trusted
  }
  return watchFile({
    path,
    value: read(path),
    read,
    onError: (error) =>
      log.error(
        { err: error, path },
        'the file of trusted issuers cannot be used: those of before stay trusted; mend it',
      ),
  })
}

function readTrustedIssuers(path: string): readonly TrustedIssuer[] {
  try {
    const issuers: unknown = parseJson(readFileSync(path, 'utf8'))
    if (Array.isArray(issuers) && issuers.every(looksLikeIssuer)) return issuers
  } catch {
    // The file is missing, unreadable or not JSON: the same message covers all cases.
  }
  throw new SettingsError(
    `${variableOf('trusted-issuers')}: ${path} is no JSON list of {issuer, jwks, algorithms, tenants}`,
  )
}

function looksLikeIssuer(value: unknown): value is TrustedIssuer {
  if (typeof value !== 'object' || value === null) return false
  const { issuer, jwks, algorithms } = value as Partial<Record<keyof TrustedIssuer, unknown>>
  const keys = typeof jwks === 'object' && jwks !== null && 'keys' in jwks ? jwks.keys : undefined
  return typeof issuer === 'string' && Array.isArray(keys) && Array.isArray(algorithms)
}
