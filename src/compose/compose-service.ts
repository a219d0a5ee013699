/** @module The ledger as a service: composes the parts of `compose.ts`, the HTTP edge and the server. */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { revocable } from '../access/revocable.ts'
import { createApp } from '../http/app.ts'
import type { AppOptions, HttpLog, ModelGateway } from '../http/app-deps.ts'
import { awaitedLedger } from '../http/awaited-ledger.ts'
import { type ServerLimits, startServer } from '../http/server.ts'
import { MemoryBudget } from '../resources/memory-budget.ts'
import { WorkQueue } from '../resources/work-queue.ts'
import type { Settings } from '../settings/config.ts'
import { fixedKeys, requireKeys } from '../settings/key-source.ts'
import { watchTrustedIssuers } from '../settings/trusted-issuers.ts'
import type { WatchedFile } from '../settings/watch-file.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { createTokenVerifier, publicJwks, type TokenVerifier, type TrustedIssuer } from '../signing/tokens.ts'
import type { StoreStatus } from '../store/event-store.ts'
import { announceOwner, dataFolderLock } from '../store/sqlite/owner-lock.ts'
import { prepareStorePath } from '../store/sqlite/store-path.ts'
import type { WebhookDeliveries } from '../webhooks/webhook-deliveries.ts'
import { type OpenLedger, openLedger } from './compose.ts'
import { type Opening, startOpening } from './compose-waiting.ts'
import { type RetentionPasses, retentionPasses } from './retention-passes.ts'
import { recordService } from './service-recorder.ts'
import { openWebhook } from './webhook-settings.ts'

export interface Service {
  readonly url: string
  /** Rejects if, after a long start, this ledger turns out not to be able to serve the store. Otherwise it never settles. */
  readonly failed: Promise<never>
  /** Stops accepting requests, finishes those in flight, ends tails, writes pending data and closes the store. */
  readonly close: () => Promise<void>
}

export interface ServiceOptions {
  readonly settings: Settings
  readonly log: HttpLog
  readonly version: string
  /** Closed together with the service. */
  readonly gateway?: ModelGateway | undefined
  readonly mcp?: AppOptions['mcp']
  readonly mcpReads?: AppOptions['mcpReads']
  readonly isLeaving?: AppOptions['isLeaving']
}

/** Longest wait for requests in flight, in milliseconds; including the closing of the store, the process ends within five seconds. */
const DRAIN_MS = 3_000
/** Longest wait, in milliseconds, for outcomes that the gateway still has to record in the ledger. */
const OWED_MS = 500
/** Additional body size for the other members of a request that carries a value. */
const AROUND_VALUE_BYTES = 32 * 1024
/** A start that is finished within this time, in milliseconds, is not a long one: a store may be starting together with the ledger. */
const SOON_MS = 1_000

/**
 * Opens everything and listens; if a later part fails, the parts opened before are closed. If the start takes long, because the store is unavailable or the
 * logs are being rebuilt, the service listens but is not ready; it becomes ready once the ledger is open.
 */
export async function startService(options: ServiceOptions, opener = openLedger): Promise<Service> {
  const { settings, log, version } = options
  const issuers = watchTrustedIssuers(settings, log)
  const webhook = openWebhook(settings, log, version)
  const edge = edgeOf(options, issuers)
  const opening = startOpening(settings, log, opener)
  let deliveries: WebhookDeliveries | undefined
  let passes: RetentionPasses | undefined
  const closeOpened = async (): Promise<void> => {
    opening.stop()
    issuers[Symbol.dispose]()
    webhook?.[Symbol.dispose]()
    const opened = await opening.opened.catch(() => undefined)
    await passes?.[Symbol.asyncDispose]()
    await deliveries?.[Symbol.asyncDispose]()
    await opened?.[Symbol.asyncDispose]()
  }
  const serving = (opened: OpenLedger, draining: AbortSignal): App => {
    deliveries = webhook?.deliver(opened)
    passes = retentionPasses({ ...opened, settings, log })
    return edge({ ...opened, webhook: deliveries, retention: passes }, draining)
  }
  try {
    const ready = await Promise.race([opening.opened, opening.delayed.then(() => sleep(SOON_MS))])
    const draining = new AbortController()
    let app = ready === undefined ? edge(waiting(opening, settings), draining.signal) : serving(ready, draining.signal)
    const { host, port } = settings
    const limits = limitsOf(settings)
    const server = await startServer({ app: { fetch: (...args) => app.fetch(...args) }, host, port, draining, limits })
    announce(settings, server.url)
    let record = ready && recordService({ ...options, ledger: ready.ledger })
    const onceOpen = (opened: OpenLedger): void => {
      app = serving(opened, draining.signal)
      record = recordService({ ...options, ledger: opened.ledger })
      log.info({}, 'the ledger is open: requests are served')
    }
    return {
      url: server.url,
      failed: ready === undefined ? failureOf(opening.opened.then(onceOpen)) : never(),
      close: async () => {
        await server.close(DRAIN_MS)
        await options.gateway?.close(OWED_MS)
        await record?.close()
        await closeOpened()
      },
    }
  } catch (error) {
    await closeOpened()
    throw error
  }
}

/** Serves the pages and the API of a ledger that is already open in this process. Close it before the ledger. */
export async function serveOpened(
  served: Served,
  options: ServiceOptions,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const { settings, log } = options
  const issuers = watchTrustedIssuers(settings, log)
  try {
    const draining = new AbortController()
    const app = edgeOf(options, issuers)(served, draining.signal)
    const { host, port } = settings
    const server = await startServer({ app, host, port, draining, limits: limitsOf(settings) })
    announce(settings, server.url)
    const close = async (): Promise<void> => {
      await server.close(DRAIN_MS)
      issuers[Symbol.dispose]()
    }
    return { url: server.url, close }
  } catch (error) {
    issuers[Symbol.dispose]()
    throw error
  }
}

function limitsOf({ maxConnections }: Settings): Pick<ServerLimits, 'maxConnections' | 'maxStrangersPerAddress'> {
  return { maxConnections, maxStrangersPerAddress: Math.floor(maxConnections / 2) }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** A caller that closes the service no longer awaits this promise; the handler prevents an unhandled rejection. */
function failureOf(work: Promise<void>): Promise<never> {
  const failed = work.then(never)
  failed.catch(() => undefined)
  return failed
}

type Served = Pick<OpenLedger, 'ledger' | 'keys' | 'memory' | 'work' | 'readers' | 'indexing'> & {
  readonly webhook?: Pick<WebhookDeliveries, 'stats'> | undefined
  readonly retention?: RetentionPasses | undefined
}

function waiting(opening: Opening, settings: Settings): Served {
  const status = (): StoreStatus => ({ state: 'unavailable', detail: opening.reason() })
  return {
    ledger: awaitedLedger(status),
    keys: fixedKeys(requireKeys(settings.keys)),
    memory: new MemoryBudget(),
    work: new WorkQueue(),
  }
}

function edgeOf(
  { settings, log, version, gateway, mcp, mcpReads, isLeaving }: ServiceOptions,
  issuers: WatchedFile<readonly TrustedIssuer[]>,
): (served: Served, draining: AbortSignal) => App {
  const trusted = latest(issuers)
  const { values, ratePerSecond, rateBurst, workMsPerSecond, openMetrics, requestLog, strictAccess, corsOrigins } =
    settings
  const valueBodyMaxBytes = values.maxBytes + AROUND_VALUE_BYTES
  return ({ ledger, keys: source, memory, work, readers, indexing, webhook, retention }, draining) => {
    const keys = latest(source)
    const verifier = verifierFor(settings, { keys, initial: keys(), trusted, memory })
    return createApp({
      ledger,
      verifier: revocable(verifier, (tenant) => ledger.tokens.revocations(tenant)),
      jwks: () => publicJwks(keys()),
      log,
      version,
      memory,
      work,
      ...(readers && { readers }),
      ...(indexing && { indexing }),
      disks: foldersOf(settings),
      ...{ mcp, mcpReads, ...(webhook && { webhook }), ...(retention && { retention }) },
      ...(gateway && { gateway }),
      settings: {
        ...{ ratePerSecond, rateBurst, workMsPerSecond, openMetrics, requestLog, strictAccess, valueBodyMaxBytes },
        corsOrigins,
      },
      draining,
      ...(isLeaving && { isLeaving }),
    })
  }
}

/** Folders whose disks can fill up: the data folder and the folder of the store's file. */
function foldersOf({ store, data }: Settings): Record<string, string> {
  if (store.kind === 'memory') return {}
  return { data, ...(store.kind === 'sqlite' && { store: dirname(store.path) }) }
}

type App = ReturnType<typeof createApp>

/** The content of the file at the last poll. The file is polled every second; verifying a token must not wait for the disk. */
function latest<T>(file: Pick<WatchedFile<T>, 'current' | 'onChange'>): () => T {
  let value = file.current()
  file.onChange((changed) => {
    value = changed
  })
  return () => value
}

interface Trust {
  readonly keys: () => LedgerKeys
  readonly initial: LedgerKeys
  readonly memory: MemoryBudget
  readonly trusted: () => readonly TrustedIssuer[]
}

function verifierFor(
  { issuer, audience, payloadScope }: Settings,
  { keys, initial, trusted, memory }: Trust,
): TokenVerifier {
  const { tokenSecret: sharedSecret } = initial
  const cacheMaxBytes = memory.limitOf('tokens')
  const rules = { issuer, audience, payloadScope, now: Date.now, cacheMaxBytes }
  const verifier = createTokenVerifier({ keys, trusted, sharedSecret, ...rules })
  memory.watch('tokens', () => verifier.cacheBytes)
  return verifier
}

/** Writes the URL into the lock files, so that a second process can report where the ledger is that owns the store and the data folder. */
function announce({ store, data }: Settings, url: string): void {
  if (store.kind === 'sqlite') announceOwner(prepareStorePath(store.path), url)
  if (store.kind !== 'memory') announceOwner(dataFolderLock(data), url)
}
