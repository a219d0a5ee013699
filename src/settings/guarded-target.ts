/**
 * @module The addresses that may be contacted for a URL in the settings: public addresses of its host, the loopback interface if the URL names it, and
 * explicitly allowed addresses.
 */
import { isIP } from 'node:net'
import { parseTrusted } from '../egress/trusted-addresses.ts'
import { reasonOf } from './reason-of.ts'
import { type SettingName, variableOf } from './settings.ts'
import { SettingsError } from './settings-error.ts'

/** Loopback addresses are allowed without further settings if the URL names them. */
const LOOPBACK = ['127.0.0.0/8', '::1']
const IS_LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export interface GuardedTarget {
  readonly url: string
  /** Non-public addresses that the host may resolve to, as given in the settings. */
  readonly allow: readonly string[]
  readonly setting: SettingName
  /** The setting in which these addresses are named. */
  readonly allowIn: string
  /** Why https is required for other machines; absent: http is permitted if addresses are allowed explicitly. */
  readonly plain?: string
}

/** The allowed targets, in the format of `guardedFetch`. Throws `SettingsError` for an unusable setting. */
export function guardedTarget({ url, allow, setting, allowIn, plain }: GuardedTarget): readonly string[] {
  const { protocol, hostname, host, username } = new URL(url)
  const isLocal = IS_LOOPBACK.test(hostname)
  const fault = (what: string) => new SettingsError(`${variableOf(setting)}: ${what}`)
  if (protocol !== 'https:' && !isLocal && (plain !== undefined || allow.length === 0))
    throw fault(`an address on another machine takes https, ${plain ?? `or ${allowIn} with the addresses that it has`}`)
  if (username !== '') throw fault('leave the user out of the URL')
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 && !isLocal
  if (isAddress && allow.length === 0)
    throw fault(`${hostname} is an address: name it in ${allowIn} as well, or use a host name`)
  const trusted = [...(isAddress ? [] : [host]), ...(isLocal ? LOOPBACK : []), ...allow]
  try {
    parseTrusted(trusted)
  } catch (error) {
    throw fault(`${allowIn}: ${reasonOf(error)}`)
  }
  return trusted
}
