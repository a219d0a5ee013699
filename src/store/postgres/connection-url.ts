/**
 * @module Connection strings: `postgres://user:password@host:5432/database?schema=countersign&sslmode=verify-full`. Parsed here, so that an option that
 * would weaken a guarantee of this store, or that has no effect, is refused instead of ignored.
 */
import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import type { ClientConfig } from 'pg'
import { StoreOpenError } from '../event-store.ts'

export interface ConnectionTarget {
  /** For `pg`, with credentials: must not be logged. */
  readonly config: ClientConfig
  readonly schema: string
  /** How far the connection is protected against eavesdropping. */
  readonly secrecy: 'this machine' | 'not encrypted' | 'encrypted, server not verified' | 'encrypted'
  /** For display and logs: without the password. */
  readonly shown: string
}

const SCHEMES = ['postgres:', 'postgresql:']
const DEFAULT_SCHEMA = 'countersign'
/** An identifier that needs no quotes, short enough for the names derived from it. */
const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,40}$/
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type SslMode = (typeof SSL_MODES)[number]
const FILE_OPTIONS = ['sslrootcert', 'sslcert', 'sslkey'] as const
const OPTIONS: ReadonlySet<string> = new Set(['schema', 'sslmode', ...FILE_OPTIONS])
const CONNECT_TIMEOUT_MS = 5_000
const DEFAULT_PORT = 5_432

/** Throws `StoreOpenError` (`store-unsupported`); no message contains a password. */
export function readConnectionUrl(text: string): ConnectionTarget {
  const url = parsed(text)
  for (const name of url.searchParams.keys()) {
    if (!OPTIONS.has(name)) throw unusable(`the option ${JSON.stringify(name.slice(0, 40))} is not supported`)
    if (url.searchParams.getAll(name).length > 1) throw unusable(`the option ${name} is given more than once`)
  }
  const schema = url.searchParams.get('schema') ?? DEFAULT_SCHEMA
  if (!SCHEMA_PATTERN.test(schema)) throw unusable('a schema is a lower-case name of at most 41 letters, digits and _')
  const database = decoded(url.pathname.slice(1))
  if (database === '') throw unusable('name the database: postgres://user@host/database')

  const host = decoded(url.hostname).replace(/^\[(.*)\]$/, '$1')
  const mode = sslModeOf(url.searchParams, host)
  const ssl = sslOf(url.searchParams, mode)
  const password = decoded(url.password)
  const config: ClientConfig = {
    host,
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    database,
    ssl,
    application_name: 'countersign',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(url.username !== '' && { user: decoded(url.username) }),
    ...(password !== '' && { password }),
  }
  url.password = ''
  return { config, schema, secrecy: secrecyOf(mode, host), shown: url.toString() }
}

function parsed(text: string): URL {
  try {
    const url = new URL(text.trim())
    if (SCHEMES.includes(url.protocol) && url.hostname !== '') return url
  } catch {
    // The error of `URL` quotes its input including the password; the message below does not.
  }
  throw unusable('it must look like postgres://user:password@host:5432/database?schema=countersign')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw unusable('write a literal % in it as %25')
  }
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** A socket folder is also on this machine. */
function isThisMachine(host: string): boolean {
  if (isIP(host) !== 0) return LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')
  return host.startsWith('/') || host.toLowerCase() === 'localhost'
}

/**
 * Mode names as in libpq; `prefer` and `allow` are not supported, since they silently fall back to plain text. So would a missing mode: an unencrypted
 * connection to another machine must be requested explicitly.
 */
function sslModeOf(options: URLSearchParams, host: string): SslMode {
  const named = options.get('sslmode')
  const mode = named === null ? 'disable' : SSL_MODES.find((each) => each === named)
  if (mode === undefined) throw unusable(`sslmode is one of ${SSL_MODES.join(', ')}`)
  if (named === null && !isThisMachine(host)) {
    const advice = 'write sslmode=verify-full (with sslrootcert=FILE for an authority of your own)'
    throw unusable(
      `it says nothing of encryption, and ${host} is another machine: ${advice}, or sslmode=disable on a network where no one can listen in`,
    )
  }
  const unread = FILE_OPTIONS.find((name) => options.has(name) && (mode === 'disable' || isUnchecked(mode, name)))
  if (unread !== undefined) {
    throw unusable(`${unread} means nothing under sslmode=${mode}: write sslmode=verify-full, or leave it out`)
  }
  return mode
}

/** `require` accepts any certificate. */
function isUnchecked(mode: SslMode, name: string): boolean {
  return mode === 'require' && name === 'sslrootcert'
}

function secrecyOf(mode: SslMode, host: string): ConnectionTarget['secrecy'] {
  if (mode === 'disable') return isThisMachine(host) ? 'this machine' : 'not encrypted'
  return mode === 'require' ? 'encrypted, server not verified' : 'encrypted'
}

function sslOf(options: URLSearchParams, mode: SslMode): ClientConfig['ssl'] {
  if (mode === 'disable') return false
  const file = (name: string): string | undefined => readable(name, options.get(name))
  const [ca, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')]
  return {
    rejectUnauthorized: mode !== 'require',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
}

function readable(name: string, path: string | null): string | undefined {
  if (path === null) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw unusable(`the file of ${name} cannot be read: ${path}`)
  }
}

function unusable(reason: string): StoreOpenError {
  return new StoreOpenError('store-unsupported', `the store's URL cannot be used: ${reason}`)
}
