/** @module The oldest Node that this runs on. It imports nothing, so that an older one can load it. */

/** As `engines` of package.json says. */
export const OLDEST_NODE = '22.19.0'

/** One line that says what is needed, for a Node of a version such as `20.20.2` that is too old; undefined for every other. */
export function nodeFault(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined
  return `Node ${OLDEST_NODE} or newer is needed, and this is ${version}: install a newer one, or begin the command with npx in a clone (npx node FILE)`
}
