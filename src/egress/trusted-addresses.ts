/** @module Decides which addresses may be connected to: only those that are listed. Pure. */
import { isIP, isIPv6 } from 'node:net'
import type ipaddr from 'ipaddr.js'
import { DialError } from './dial-error.ts'

interface NamedHost {
  readonly kind: 'host'
  readonly host: string
  readonly port: number | undefined
}

interface NamedBlock {
  readonly kind: 'block'
  readonly range: string
  /** Undefined for a single address, in any notation. */
  readonly bits: number | undefined
  readonly port: number | undefined
}

/** The library for notations and special ranges of addresses, loaded when the first one is checked. */
export type AddressLibrary = typeof ipaddr

export type Trusted = NamedHost | NamedBlock

export interface Target {
  /** The host as in a parsed URL: lower case, normalised literal addresses, IPv6 with or without brackets. */
  readonly host: string
  readonly port: number
  readonly protocol: string
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 }
/** Cloud infrastructure at public addresses: the host agent of Azure. */
const MACHINERY: ReadonlySet<string> = new Set(['168.63.129.16'])
/** The range assigned for global unicast (IANA); clients need no address outside it. */
const GLOBAL_V6 = '2000::/3'

/** Parses host names, `host:port`, addresses and CIDR blocks. Throws `invalid-allow`. */
export function parseTrusted(allow: readonly string[]): Trusted[] {
  if (allow.length === 0) throw invalid('nothing is allowed: name the hosts, addresses or blocks that may be dialled')
  return allow.map(parseEntry)
}

function parseEntry(entry: string): Trusted {
  if (entry.includes('/')) {
    const [, range = '', bits = ''] = /^([\da-f:.]+)\/(\d{1,3})$/i.exec(entry) ?? []
    const bitsMax = isIPv6(range) ? 128 : 32
    if (isIP(range) === 0 || Number(bits) > bitsMax)
      throw invalid(`${entry} is no CIDR block such as 10.1.0.0/16: name hosts without a scheme`)
    return { kind: 'block', range, bits: Number(bits), port: undefined }
  }
  // A bare IPv6 address contains colons, so it needs brackets.
  const literal = isIPv6(entry) ? `[${entry}]` : entry
  const url = URL.canParse(`http://${literal}`) ? new URL(`http://${literal}`) : undefined
  const portText = /:(\d+)$/.exec(literal)?.[1]
  if (url === undefined || url.username !== '' || url.pathname !== '/' || url.search !== '' || entry === '') {
    throw invalid(`${entry} is no host name, host:port, address or CIDR block`)
  }
  const host = bare(url.hostname)
  const port = portText === undefined ? undefined : Number(portText)
  return isIP(host) === 0 ? { kind: 'host', host, port } : { kind: 'block', range: host, bits: undefined, port }
}

/** The reason why this name is refused; undefined if its addresses decide. */
export function hostFault(trusted: readonly Trusted[], target: Target): string | undefined {
  const host = bare(target.host)
  if (isIP(host) !== 0 || isNamed(trusted, { ...target, host })) return undefined
  return `${host}:${target.port} is not among what may be dialled`
}

/** The reason why this address is refused for the target; undefined if it is allowed. */
export function addressFault(
  library: AddressLibrary,
  { trusted, target, address }: { trusted: readonly Trusted[]; target: Target; address: string },
): string | undefined {
  if (!library.isValid(address)) return `${address} is no address`
  const plain = library.process(address)
  const isNamed = (each: Trusted): boolean =>
    each.kind === 'block' && isIn(library, plain, each) && (each.port ?? target.port) === target.port
  if (trusted.some(isNamed)) return undefined
  if (isIP(bare(target.host)) !== 0) return `the address ${address} is not among what may be dialled`
  return isPublic(library, plain)
    ? undefined
    : `${target.host} resolves to ${address}, which is not public: allow its block to dial it`
}

function isNamed(trusted: readonly Trusted[], { host, port, protocol }: Target): boolean {
  return trusted.some(
    (each) => each.kind === 'host' && each.host === host && (each.port ?? DEFAULT_PORTS[protocol]) === port,
  )
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

function isIn(library: AddressLibrary, address: Address, { range, bits }: NamedBlock): boolean {
  if (bits === undefined) return library.process(range).toNormalizedString() === address.toNormalizedString()
  const block = library.parse(range)
  return address.kind() === block.kind() && address.match(block, bits)
}

/** Whether it is a unicast address of the public internet and in no special range, in any notation. */
function isPublic(library: AddressLibrary, address: Address): boolean {
  if (address.range() !== 'unicast' || MACHINERY.has(address.toString())) return false
  return address.kind() === 'ipv4' || address.match(library.parseCIDR(GLOBAL_V6))
}

export function portOf(port: string, protocol: string): number {
  return port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port)
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
}

function invalid(message: string): DialError {
  return new DialError('invalid-allow', message)
}
