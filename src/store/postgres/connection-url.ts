/**
 * @module Connection strings: `postgres://user:password@host:5432/database?schema=countersign&sslmode=verify-full`. Parsed here, so that an
 * option that would weaken a promise of this store, or that nobody reads, is refused instead of passed over.
 */
import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'
import { StoreOpenError } from '../event-store.ts'

export interface ConnectionTarget {
  /** For `pg`, credentials and all: not for logs. */
  readonly config: ClientConfig
  readonly schema: string
  /** For people and logs: without the password. */
  readonly shown: string
}

const SCHEMES = ['postgres:', 'postgresql:']
const DEFAULT_SCHEMA = 'countersign'
/** An identifier that needs no quotes, short enough for the names that are made from it. */
const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,40}$/
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const OPTIONS: ReadonlySet<string> = new Set(['schema', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'])
const CONNECT_TIMEOUT_MS = 5_000
const DEFAULT_PORT = 5_432

/** Throws `StoreOpenError` (`store-unsupported`); no message repeats a password. */
export function readConnectionUrl(text: string): ConnectionTarget {
  const url = parsed(text)
  for (const name of url.searchParams.keys()) {
    if (!OPTIONS.has(name)) throw unusable(`the option ${JSON.stringify(name.slice(0, 40))} is not supported`)
  }
  const schema = url.searchParams.get('schema') ?? DEFAULT_SCHEMA
  if (!SCHEMA_PATTERN.test(schema)) throw unusable('a schema is a lower-case name of at most 41 letters, digits and _')
  const database = decodeURIComponent(url.pathname.slice(1))
  if (database === '') throw unusable('name the database: postgres://user@host/database')

  const ssl = sslOf(url.searchParams)
  const password = decodeURIComponent(url.password)
  const config: ClientConfig = {
    host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    database,
    ssl,
    application_name: 'countersign',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(url.username !== '' && { user: decodeURIComponent(url.username) }),
    ...(password !== '' && { password }),
  }
  url.password = ''
  return { config, schema, shown: url.toString() }
}

function parsed(text: string): URL {
  try {
    const url = new URL(text.trim())
    if (SCHEMES.includes(url.protocol) && url.hostname !== '') return url
  } catch {
    // `URL` quotes its input, password and all: the message below does not.
  }
  throw unusable('it must look like postgres://user:password@host:5432/database?schema=countersign')
}

/** As libpq names them; `prefer` and `allow` are left out, since they go on in the clear without a word. */
function sslOf(options: URLSearchParams): ClientConfig['ssl'] {
  const mode = options.get('sslmode') ?? 'disable'
  if (!SSL_MODES.some((each) => each === mode)) throw unusable(`sslmode is one of ${SSL_MODES.join(', ')}`)
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

function unusable(why: string): StoreOpenError {
  return new StoreOpenError('store-unsupported', `the store's URL cannot be used: ${why}`)
}
