/** @module What may be dialled for an address of the settings: its host at public addresses, this machine where the URL names it, and what is allowed besides. */
import { isIP } from 'node:net'
import { parseTrusted } from '../egress/trusted-addresses.ts'
import { reasonOf } from './reason-of.ts'
import { type SettingName, variableOf } from './settings.ts'
import { SettingsError } from './settings-error.ts'

/** Of this machine: what an address in the URL itself may be, without more words. */
const LOOPBACK = ['127.0.0.0/8', '::1']
const IS_LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export interface GuardedTarget {
  readonly url: string
  /** Addresses that are not public, where its host may lie: as the settings have them. */
  readonly allow: readonly string[]
  readonly setting: SettingName
  /** Where the owner names these addresses. */
  readonly allowIn: string
  /** Why it takes https on another machine; absent: http goes where addresses are allowed by name. */
  readonly plain?: string
}

/** As `guardedFetch` takes it. Throws `SettingsError` for what cannot be used. */
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
