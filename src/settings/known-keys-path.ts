/** @module Where a reader's pinned keys are: in the reader's own configuration folder. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

export const KNOWN_KEYS_ABOUT = "the reader's pinned verifier keys of other ledgers' logs, for `verify` and `keys pin`"
export const KNOWN_KEYS_DEFAULT = '`countersign/known-keys` in `$XDG_CONFIG_HOME`, else in `~/.config`'

/**
 * The file of pinned keys; undefined where the user has no home. The XDG base directory specification passes relative paths over: they
 * would be those of the working directory.
 */
export function ownKnownKeys(configHome = ''): string | undefined {
  if (isAbsolute(configHome)) return join(configHome, 'countersign', 'known-keys')
  try {
    const home = homedir()
    return isAbsolute(home) ? join(home, '.config', 'countersign', 'known-keys') : undefined
  } catch {
    // The system knows no such user.
    return undefined
  }
}
