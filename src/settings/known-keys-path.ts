/** @module Path of the pinned keys, in the configuration folder of the user. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

export const KNOWN_KEYS_ABOUT = "the reader's pinned verifier keys of other ledgers' logs, for `verify` and `keys pin`"
export const KNOWN_KEYS_DEFAULT = '`countersign/known-keys` in `$XDG_CONFIG_HOME`, else in `~/.config`'

/**
 * The file of pinned keys; undefined if the user has no home. A relative `configHome` is ignored, as the XDG base directory specification requires: it would
 * depend on the working directory.
 */
export function ownKnownKeys(configHome = ''): string | undefined {
  if (isAbsolute(configHome)) return join(configHome, 'countersign', 'known-keys')
  try {
    const home = homedir()
    return isAbsolute(home) ? join(home, '.config', 'countersign', 'known-keys') : undefined
  } catch {
    // The operating system does not know the user.
    return undefined
  }
}
