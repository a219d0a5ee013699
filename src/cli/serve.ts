/** @module `countersign serve`: serves the ledger over HTTP until a signal ends it. */
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { mcpReads } from '../capture/mcp-server/http.ts'
import { type Service, startService } from '../compose/compose-service.ts'
import type { Settings } from '../settings/config.ts'
import { packageVersion } from '../settings/package-version.ts'
import type { Arguments } from './arguments.ts'
import { EXIT } from './failure.ts'
import { firstSteps } from './first-steps.ts'
import { serveLog } from './serve-log.ts'
import { mcpOf } from './serve-mcp.ts'
import { painter } from './terminal.ts'

/** Limit of the shutdown, in milliseconds. The drain has its own, lower limit; work that is still blocked after this does not keep the process alive. */
const CLOSE_MAX_MS = 4_500

export async function serve(args: Arguments): Promise<number> {
  const erasures = args.text('erasures')
  const settings: Settings = {
    ...args.settings,
    acceptWalLoss: args.has('accept-wal-loss'),
    ...(erasures !== undefined && { erasures }),
  }
  const onTerminal = process.stdout.isTTY === true
  const log = createLog(settings, onTerminal)
  // After an uncaught exception or unhandled rejection, the state of the process is undefined, and it must not answer requests. Acknowledged events are
  // durable, so the store needs no clean shutdown; requests that were not acknowledged are retried under their idempotency keys.
  process.on('uncaughtException', (error, origin) => {
    const remedy = 'start it again: nothing acknowledged is lost; then report this line'
    log.fatal({ err: error, origin, remedy }, 'an error that nothing caught: the process ends')
    process.exit(EXIT.failed)
  })
  // Registered now, so that a signal during the start, or right after listening was announced, also leads to an orderly end.
  const signalled = nextSignal(
    log,
    [0, 1, 2].some((fd) => isatty(fd)),
  )
  const version = packageVersion()
  const gateway = settings.gateway === undefined ? undefined : await gatewayOf(settings.gateway, log)
  const mcp = mcpOf(args, settings, log)
  let isLeaving = false
  const service = await startedInTime(
    startService({
      ...{ settings, log, version, gateway, mcp: mcp?.entrance, isLeaving: () => isLeaving },
      mcpReads: mcpReads(version, settings.corsOrigins),
    }),
    signalled,
    CLOSE_MAX_MS,
  )
  if (service === undefined) {
    // Derived files are written in complete steps; the next start continues there.
    log.info({}, 'ended before it listened')
    process.exit(EXIT.ok)
  }
  mcp?.servedAt(service.url)
  log.info({ url: service.url, data: resolve(settings.data), version }, 'listening')
  if (onTerminal) greet(settings, service.url, version)

  const signal = await Promise.race([signalled, service.failed]).catch(async (error: unknown) => {
    await closeInTime(service)
    throw error
  })
  if (signal === 'SIGTERM' && settings.drainMs > 0) {
    isLeaving = true
    log.info({ signal, seconds: settings.drainMs / 1_000 }, 'not ready any more: served on until the drain is over')
    await Promise.race([sleep(settings.drainMs), service.failed]).catch(() => undefined)
  }
  log.info({ signal }, 'closing')
  await closeInTime(service, mcp?.entrance)
  log.info({}, 'closed')
  if (signal === 'SIGHUP') dieOf(signal)
  return EXIT.ok
}

/** Loaded only if needed, because it includes the code of model calls. */
async function gatewayOf(path: string, log: Logger) {
  return (await import('./gateway.ts')).openGateway(path, log)
}

/** Programs read the log from stdout; on a terminal, stdout shows the next steps, and only warnings are logged, to stderr. */
function createLog({ logLevel }: Settings, onTerminal: boolean): Logger {
  if (!onTerminal) return serveLog(1, logLevel)
  return serveLog(2, logLevel === 'info' ? 'warn' : logLevel)
}

function greet(settings: Settings, url: string, version: string): void {
  const paint = painter(process.stdout)
  const { data } = settings
  const lines = [
    `${paint('Countersign', 'bold')} ${version} listens on ${paint(url, 'bold')}`,
    `Store and keys are in ${resolve(data)}`,
    '',
    'In another terminal:',
    ...firstSteps({ url, data }).map((line) => `  ${line}`),
    '',
    'or, without a server: npm run tour',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Resolves with the first signal that ends the server; a second one exits immediately. SIGHUP ends a server whose terminal was closed; without a terminal,
 * service managers use it to request a reload, and the server continues.
 */
function nextSignal(log: Logger, hasTerminal: boolean): Promise<NodeJS.Signals> {
  return new Promise((resolveSignal) => {
    let isTaken = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (isTaken) process.exit(EXIT.failed)
        isTaken = true
        resolveSignal(signal)
      })
    }
    process.on('SIGHUP', (signal) => {
      if (!hasTerminal) return log.info({ signal }, RELOADED)
      // Closing a terminal may send another signal, too: SIGHUP never cuts a shutdown short.
      isTaken = true
      resolveSignal(signal)
    })
  })
}

/** Dies by the signal: a normal exit would restore the closed terminal, at which node aborts. */
function dieOf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

const RELOADED =
  'nothing to reload: files of keys, policies, issuers and secrets are followed as they change, all other settings take a restart'

/**
 * The started service if the start ends before a signal or within `limitMs` after it; otherwise undefined, as for a start that reads a whole store and was
 * cancelled.
 */
export async function startedInTime<T>(
  starting: Promise<T>,
  signalled: Promise<unknown>,
  limitMs: number,
): Promise<T | undefined> {
  const over = new AbortController()
  // This timer keeps the process alive: the pending start may not, and the process must not exit without a log line.
  const limit = signalled.then(() => sleep(limitMs, undefined, { signal: over.signal })).catch(() => undefined)
  try {
    return await Promise.race([starting, limit])
  } finally {
    over.abort()
  }
}

/** The MCP proxy is closed first: outcomes of its calls are recorded while the ledger is still open. */
async function closeInTime(service: Service, mcp?: { close(): Promise<void> }): Promise<void> {
  // This timer keeps the process alive, too: without connections and timers, node would exit in the middle of the close, with code 13.
  const limit = setTimeout(() => process.exit(EXIT.failed), CLOSE_MAX_MS)
  try {
    await mcp?.close()
    await service.close()
  } finally {
    clearTimeout(limit)
  }
}
