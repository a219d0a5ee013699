/** @module The oldest supported Node version. This module imports nothing, so that an older Node can load it. */

/** Same as `engines` in package.json. */
export const OLDEST_NODE = '22.19.0'

/** An error message of one line if the version, such as `20.20.2`, is too old; otherwise undefined. */
export function nodeFault(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined
  return `Node ${OLDEST_NODE} or newer is needed, and this is ${version}: install a newer one, or begin the command with npx in a clone (npx node FILE)`
}
