/** @module The ledger as a service: the parts of `compose.ts`, the HTTP edge over them, and the server. */
import { readFileSync } from 'node:fs'
import { openLedger } from './compose.ts'
import { type Settings, SettingsError, variableOf } from './config.ts'
import { createApp } from './http/app.ts'
import type { HttpLog } from './http/app-deps.ts'
import { startServer } from './http/server.ts'
import type { WatchedKeys } from './key-source.ts'
import type { LedgerKeys } from './signing/ledger-keys.ts'
import { createTokenVerifier, publicJwks, type TokenVerifier, type TrustedIssuer } from './signing/tokens.ts'
import { announceOwner } from './store/sqlite/owner-lock.ts'
import { prepareStorePath } from './store/sqlite/store-path.ts'

export interface Service {
  readonly url: string
  /** Stops taking requests, finishes those that run, ends tails, writes what waits, closes the store. */
  readonly close: () => Promise<void>
}

export interface ServiceOptions {
  readonly settings: Settings
  readonly log: HttpLog
  readonly version: string
}

/** Longest wait for requests that run; with the closing of the store the process ends within five seconds. */
const DRAIN_MS = 3_000

/** Opens everything and listens. What was opened is closed again where a later part fails. */
export async function startService({ settings, log, version }: ServiceOptions): Promise<Service> {
  const trusted = readTrustedIssuers(settings)
  const opened = await openLedger(settings, log)
  try {
    const draining = new AbortController()
    const keys = latestKeys(opened.keys)
    const { ratePerSecond, rateBurst, openMetrics } = settings
    const app = createApp({
      ledger: opened.ledger,
      verifier: verifierFor(settings, { keys, initial: keys(), trusted }),
      jwks: () => publicJwks(keys()),
      log,
      version,
      settings: { ratePerSecond, rateBurst, openMetrics },
      draining: draining.signal,
    })
    const server = await startServer({ app, host: settings.host, port: settings.port, draining })
    announce(settings, server.url)
    return {
      url: server.url,
      close: async () => {
        await server.close(DRAIN_MS)
        await opened[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await opened[Symbol.asyncDispose]()
    throw error
  }
}

/** The keys without a look at the file: it is looked at each second, and checking tokens cannot wait for the disk. */
function latestKeys(source: WatchedKeys): () => LedgerKeys {
  let keys = source.current()
  source.onChange((changed) => {
    keys = changed
  })
  return () => keys
}

interface Trust {
  readonly keys: () => LedgerKeys
  readonly initial: LedgerKeys
  readonly trusted: readonly TrustedIssuer[]
}

function verifierFor({ issuer, audience }: Settings, { keys, initial, trusted }: Trust): TokenVerifier {
  const { tokenSecret: sharedSecret } = initial
  return createTokenVerifier({ keys, trusted, sharedSecret, issuer, audience, now: Date.now })
}

/** The file's form is judged by the verifier, which refuses unsafe algorithms and keys. */
function readTrustedIssuers({ trustedIssuers: path }: Settings): readonly TrustedIssuer[] {
  if (path === undefined) return []
  try {
    const issuers: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (Array.isArray(issuers) && issuers.every(looksLikeIssuer)) return issuers
  } catch {
    // Missing, unreadable or no JSON: one message says it all.
  }
  throw new SettingsError(`${variableOf('trusted-issuers')}: ${path} is no JSON list of {issuer, jwks, algorithms}`)
}

function looksLikeIssuer(value: unknown): value is TrustedIssuer {
  if (typeof value !== 'object' || value === null) return false
  const { issuer, jwks, algorithms } = value as Partial<Record<keyof TrustedIssuer, unknown>>
  const keys = typeof jwks === 'object' && jwks !== null && 'keys' in jwks ? jwks.keys : undefined
  return typeof issuer === 'string' && Array.isArray(keys) && Array.isArray(algorithms)
}

/** So that a second process can say where the ledger is that holds the store. */
function announce({ store }: Settings, url: string): void {
  if (store.kind === 'sqlite') announceOwner(prepareStorePath(store.path), url)
}
