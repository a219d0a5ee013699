/**
 * @module The model gateway of `countersign serve --gateway FILE`: reads its file and the keys that the file names, and restricts the addresses that it may
 * contact.
 */
import { readFileSync } from 'node:fs'
import { ModelGateway } from '../capture/gateway/gateway.ts'
import {
  type GatewayFile,
  type KeyPlace,
  type ProviderName,
  parseGatewayFile,
} from '../capture/gateway/gateway-file.ts'
import type { GatewayLog } from '../capture/gateway/model-calls.ts'
import type { Upstream } from '../capture/gateway/upstream.ts'
import { DialError } from '../egress/dial-error.ts'
import { dialFailure } from '../egress/dial-failure.ts'
import { guardedFetch } from '../egress/guarded-fetch.ts'
import { guardedTarget } from '../settings/guarded-target.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { variableOf } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'

const EXCHANGE_MS = 60 * 60_000
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|CERT_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*)$/

/** Throws `SettingsError` for a file that cannot be used. */
export function openGateway(path: string, log: GatewayLog): ModelGateway {
  const parsed = parseGatewayFile(textOf(path))
  if (!parsed.ok) throw fault(`${path}: ${parsed.message}`)
  const { file } = parsed
  const upstreams = Object.fromEntries(
    Object.entries(file.upstreams).flatMap(([name, upstream]) =>
      upstream === undefined ? [] : [[name, upstreamOf(path, name as ProviderName, upstream)]],
    ),
  )
  return new ModelGateway({ file, upstreams, log })
}

function upstreamOf(
  path: string,
  name: ProviderName,
  { url, key, allow = [] }: NonNullable<GatewayFile['upstreams'][ProviderName]>,
): Upstream {
  const target = { url, allow, setting: 'gateway', allowIn: `"allow" of the upstream ${name}` } as const
  const fetch = guardedFetch({ allow: guardedTarget(target), timeoutMs: EXCHANGE_MS })
  const secret = keyAt(path, name, key)
  return {
    url: url.replace(/\/+$/, ''),
    key: () => secret,
    fetch,
    reasonOf: (error) => dialFailure(error, EXCHANGE_MS),
    wasNotSent,
  }
}

/** Whether the upstream certainly did not receive the request: the connection was never established, or the response was a redirect. */
function wasNotSent(error: unknown): boolean {
  if (error instanceof DialError) return error.code !== 'response-too-large'
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown }
  return (typeof code === 'string' && NOT_SENT.test(code)) || (cause instanceof Error && wasNotSent(cause))
}

function keyAt(path: string, name: ProviderName, place: KeyPlace): string {
  const where = 'env' in place ? `the variable ${place.env}` : `the file ${place.file}`
  const key = ('env' in place ? (process.env[place.env] ?? '') : textOf(place.file)).trim()
  if (/^[\x21-\x7e]{8,}$/.test(key)) return key
  throw fault(`${path}: the key of the upstream ${name} is not in ${where}: it takes one of eight characters and more`)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fault(`${path} cannot be read: ${reasonOf(error)}`)
  }
}

function fault(message: string): SettingsError {
  return new SettingsError(`${variableOf('gateway')}: ${message}`)
}
