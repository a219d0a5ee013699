/** @module `serve --mcp FILE`: the MCP proxy over HTTP. */
import { readFileSync } from 'node:fs'
import { McpEntrance } from '../capture/http/entrance.ts'
import { parseUpstreams } from '../capture/http/upstreams.ts'
import { secretsOf } from '../capture/recorded-form.ts'
import type { HttpLog } from '../http/app-deps.ts'
import { ownProcess } from '../resources/process-identity.ts'
import type { Settings } from '../settings/config.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { Arguments } from './arguments.ts'
import { usageFailure } from './failure.ts'

const IDLE_MINUTES = '30'
const MS_PER_MINUTE = 60_000

export interface ServedMcp {
  readonly entrance: McpEntrance
  /** Sets the URL at which people decide and resolve calls, once the server listens. */
  readonly servedAt: (url: string) => void
}

/** Undefined if no MCP server is configured. Throws `CliFailure` for a file that cannot be used. */
export function mcpOf({ text }: Arguments, settings: Settings, log: HttpLog): ServedMcp | undefined {
  const path = text('mcp')
  if (path === undefined) return undefined
  const read = parseUpstreams(contentOf(path), process.env)
  if (!read.ok) throw usageFailure(`--mcp: ${path}: ${read.message}`, 'serve')
  const desk: { url: string | undefined } = { url: undefined }
  const entrance = new McpEntrance({
    upstreams: read.value,
    secrets: secretsOf(process.env),
    owner: ownProcess(),
    desk,
    origins: settings.corsOrigins,
    idleMs: idleMsOf(text('mcp-idle-minutes') ?? IDLE_MINUTES),
    say: (said) => log.info({ entrance: 'mcp' }, said),
  })
  const servedAt = (url: string): void => {
    desk.url = settings.webhook?.publicUrl ?? url
  }
  return { entrance, servedAt }
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw usageFailure(`--mcp: ${path} cannot be read (${reasonOf(error)})`, 'serve')
  }
}

function idleMsOf(minutes: string): number {
  if (!/^[1-9]\d{0,4}$/.test(minutes)) throw usageFailure('--mcp-idle-minutes takes a number from 1 to 99999', 'serve')
  return Number(minutes) * MS_PER_MINUTE
}
