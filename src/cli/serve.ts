/** @module `countersign serve`: the ledger behind HTTP until a signal ends it. */
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { type Service, startService } from '../compose/compose-service.ts'
import type { Settings } from '../settings/config.ts'
import { packageVersion } from '../settings/package-version.ts'
import type { Arguments } from './arguments.ts'
import { EXIT } from './failure.ts'
import { firstSteps } from './first-steps.ts'
import { serveLog } from './serve-log.ts'
import { mcpOf } from './serve-mcp.ts'
import { painter } from './terminal.ts'

/** The drain has its own limit below this; whatever still hangs then does not keep the process. */
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
  // What nobody caught, a rejected promise too, left the process in a state that nobody knows: going on could answer from it. What was
  // acknowledged is durable, so the store needs no farewell to be whole; what was not is sent again under its idempotency key.
  process.on('uncaughtException', (error, origin) => {
    const remedy = 'start it again: nothing acknowledged is lost; then report this line'
    log.fatal({ err: error, origin, remedy }, 'an error that nothing caught: the process ends')
    process.exit(EXIT.failed)
  })
  // From here on, so that a signal during the start, or right after the word that we listen, ends in order too.
  const signalled = nextSignal(
    log,
    [0, 1, 2].some((fd) => isatty(fd)),
  )
  const version = packageVersion()
  const gateway = settings.gateway === undefined ? undefined : await gatewayOf(settings.gateway, log)
  const mcp = mcpOf(args, settings, log)
  let isLeaving = false
  const service = await startedInTime(
    startService({ settings, log, version, gateway, mcp: mcp?.entrance, isLeaving: () => isLeaving }),
    signalled,
    CLOSE_MAX_MS,
  )
  if (service === undefined) {
    // What follows the store is made by whole steps, and goes on at the next start.
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

/** Loaded where it is asked for: it brings the code of model calls along. */
async function gatewayOf(path: string, log: Logger) {
  return (await import('./gateway.ts')).openGateway(path, log)
}

/** A program reads the log from stdout; a person's terminal shows what to do next there, and only warnings beside it. */
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
 * The first that ends the server. A second one ends the process at once, whatever it is doing. SIGHUP ends a server whose terminal is gone;
 * without a terminal it is how service managers ask for a reload, and the server goes on.
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
      // Whoever closes a terminal may send another signal, too: this one never cuts an end short.
      isTaken = true
      resolveSignal(signal)
    })
  })
}

/** An ordinary exit would restore the terminal that is gone, at which node aborts. */
function dieOf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

const RELOADED =
  'nothing to reload: files of keys, policies, issuers and secrets are followed as they change, all other settings take a restart'

/** What starts, where it starts before a signal came and so long after it; undefined: a start that reads a whole store was told to end. */
export async function startedInTime<T>(
  starting: Promise<T>,
  signalled: Promise<unknown>,
  limitMs: number,
): Promise<T | undefined> {
  const over = new AbortController()
  // It keeps the process: what the start waits for may not, and an end without a word is none in order.
  const limit = signalled.then(() => sleep(limitMs, undefined, { signal: over.signal })).catch(() => undefined)
  try {
    return await Promise.race([starting, limit])
  } finally {
    over.abort()
  }
}

/** What stands in front of others is ended first: what is known of their calls is recorded while the ledger is open. */
async function closeInTime(service: Service, mcp?: { close(): Promise<void> }): Promise<void> {
  // It keeps the process, too: with its connections and timers gone node would end it in the middle of the close, with code 13.
  const limit = setTimeout(() => process.exit(EXIT.failed), CLOSE_MAX_MS)
  try {
    await mcp?.close()
    await service.close()
  } finally {
    clearTimeout(limit)
  }
}
