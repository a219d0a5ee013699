/**
 * @module Connection strings: `esdb://`, `esdb+discover://` and the same with `kurrentdb`. Checked here, because the client prints
 * the whole string, password and all, beside an option that it does not know.
 */
import { StoreOpenError } from '../event-store.ts'

const URL_FORM = /^(esdb|kurrentdb)(\+discover)?:\/\/(?:([^@/?]+)@)?([^@/?]+)\/?(?:\?(.*))?$/
const CREDENTIALS = /^[^:]+:[^:]+$/
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/
/** What the client understands, less what would turn off a promise of this store. */
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
  /** For the client, credentials and all. */
  readonly connection: string
  /** For people and logs: without credentials. */
  readonly shown: string
}

/** Throws `StoreOpenError` (`store-unsupported`); no message repeats a password. */
export function readConnectionUrl(text: string): ConnectionUrl {
  const [whole, scheme = '', discover = '', credentials, hosts = '', query = ''] = URL_FORM.exec(text.trim()) ?? []
  if (whole === undefined) throw unusable('it must look like esdb://host:2113?tls=false')
  if (credentials !== undefined && !CREDENTIALS.test(credentials)) {
    throw unusable('the credentials before @ must be user:password, with %3A for a colon in them')
  }
  if (!hosts.split(',').every((host) => HOST.test(host)))
    throw unusable('a host is a name or an address, and a port after it')
  const pairs = query === '' ? [] : query.split('&')
  for (const pair of pairs) checkOption(pair)

  const rest = `${hosts}${query === '' ? '' : `?${query}`}`
  const user = credentials === undefined ? '' : `${credentials}@`
  return { connection: `esdb${discover}://${user}${rest}`, shown: `${scheme}${discover}://${rest}` }
}

function checkOption(pair: string): void {
  const [key = '', value = ''] = pair.split('=')
  if (value === '' || pair.split('=').length !== 2) throw unusable('options are written key=value, with & between them')
  const flat = key.toLowerCase().replaceAll(/[_-]/g, '')
  if (!OPTIONS.has(flat)) throw unusable(`the option ${JSON.stringify(key.slice(0, 40))} is not supported`)
}

function unusable(why: string): StoreOpenError {
  return new StoreOpenError('store-unsupported', `the store's URL cannot be used: ${why}`)
}
