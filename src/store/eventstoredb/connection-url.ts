/**
 * @module Connection strings: `esdb://`, `esdb+discover://` and the same with `kurrentdb`. Checked here, because the client prints the whole string
 * including the password in its error for an unknown option.
 */
import { StoreOpenError } from '../event-store.ts'

const URL_FORM = /^(esdb|kurrentdb)(\+discover)?:\/\/(?:([^@/?]+)@)?([^@/?]+)\/?(?:\?(.*))?$/
const CREDENTIALS = /^[^:]+:[^:]+$/
/** The client does not support IPv6 addresses. */
const HOST = /^[A-Za-z0-9._-]+(?::\d{1,5})?$/
/**
 * Limits of one search for the leader: timeout in seconds and number of attempts. With the client's defaults, 5 and 10, searches continue long after they
 * were abandoned.
 */
const SEARCH = { gossiptimeout: 'gossipTimeout=2', maxdiscoverattempts: 'maxDiscoverAttempts=3' }
/** Options of the client, except those that would disable a guarantee of this store. */
const OPTIONS: ReadonlySet<string> = new Set([
  'tls',
  'tlscafile',
  'usercertfile',
  'userkeyfile',
  'connectionname',
  'nodepreference',
  'maxdiscoverattempts',
  'discoveryinterval',
  'gossiptimeout',
  'defaultdeadline',
  'keepaliveinterval',
  'keepalivetimeout',
])

export interface ConnectionUrl {
  /** For the client, with credentials: must not be logged. */
  readonly connection: string
  /** For display and logs: without credentials. */
  readonly shown: string
}

/** Throws `StoreOpenError` (`store-unsupported`); no message contains a password. */
export function readConnectionUrl(text: string): ConnectionUrl {
  const [whole, scheme = '', discover = '', credentials, hosts = '', query = ''] = URL_FORM.exec(text.trim()) ?? []
  if (whole === undefined) throw unusable('it must look like esdb://host:2113?tls=false')
  if (credentials !== undefined && !CREDENTIALS.test(credentials)) {
    throw unusable('the credentials before @ must be user:password, with %3A for a colon in them')
  }
  if (!hosts.split(',').every((host) => HOST.test(host)))
    throw unusable('a host is a name or an IPv4 address, and a port after it')
  const pairs = query === '' ? [] : query.split('&')
  const inputs = pairs.map(checkedOption)

  const isCluster = discover !== '' || hosts.includes(',')
  const more = Object.entries(SEARCH).flatMap(([option, pair]) => (isCluster && !inputs.includes(option) ? [pair] : []))
  const user = credentials === undefined ? '' : `${credentials}@`
  return {
    connection: `esdb${discover}://${user}${hosts}${queryOf([...pairs, ...more])}`,
    shown: `${scheme}${discover}://${hosts}${queryOf(pairs)}`,
  }
}

function queryOf(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Returns the option's name in the form in which the client compares it. */
function checkedOption(pair: string): string {
  const [key = '', value = ''] = pair.split('=')
  if (value === '' || pair.split('=').length !== 2) throw unusable('options are written key=value, with & between them')
  const flat = key.toLowerCase().replaceAll(/[_-]/g, '')
  if (!OPTIONS.has(flat)) throw unusable(`the option ${JSON.stringify(key.slice(0, 40))} is not supported`)
  return flat
}

function unusable(reason: string): StoreOpenError {
  return new StoreOpenError('store-unsupported', `the store's URL cannot be used: ${reason}`)
}
