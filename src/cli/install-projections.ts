/** @module Installs our scripts on the server and waits until they run. Repeating it changes nothing. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectionServer, ServerProjection } from '../store/projection-server.ts'
import { OWN_PROJECTIONS, type OwnProjection } from '../verify/server-projections.ts'
import { CliFailure, EXIT } from './failure.ts'
import { categoryFault, NEEDED_NAMES, ownOf } from './own-projections.ts'

export interface InstallOptions {
  /** Whether to rebuild all folds from the beginning. */
  readonly reset: boolean
  /** Maximum wait, in milliseconds, for the server's own projection and ours to run. */
  readonly waitMs: number
}

export interface Installed {
  readonly done: 'created' | 'updated' | 'reset'
  readonly projection: ServerProjection
}

const LOOK_AGAIN_MS = 200

/** Throws `CliFailure` if the server does not sort streams by category; a script that the server cannot run is reported in the result. */
export async function installProjections(
  server: ProjectionServer,
  options: InstallOptions,
): Promise<readonly Installed[]> {
  const scripts = OWN_PROJECTIONS.map((own) => ({ own, script: scriptOf(own) }))
  const deadlineMs = performance.now() + options.waitMs
  const before = await lookUntil(server, NEEDED_NAMES, {
    deadlineMs,
    isEnough: (all) => categoryFault(all) === undefined,
  })
  const fault = categoryFault(before)
  if (fault !== undefined) throw fault

  const done: Installed['done'][] = []
  for (const { own, script } of scripts) {
    done.push(await install(server, { own, script, before, deadlineMs, reset: options.reset }))
  }
  const after = ownOf(await server.find(NEEDED_NAMES))
  return after.map((projection, index) => ({ done: done[index] ?? 'updated', projection }))
}

interface Script {
  readonly own: OwnProjection
  readonly script: string
  readonly before: readonly ServerProjection[]
  readonly deadlineMs: number
  readonly reset: boolean
}

/** The server does not return the script of a projection, so an existing one is always updated with ours. */
async function install(
  server: ProjectionServer,
  { own: { name }, script, before, deadlineMs, reset }: Script,
): Promise<Installed['done']> {
  // A command during a state change of a projection is an error for the server.
  const settled = async (): Promise<ServerProjection['state'] | undefined> => {
    const isEnough = ([found]: readonly ServerProjection[]): boolean => found?.state !== 'starting'
    return (await lookUntil(server, [name], { deadlineMs, isEnough }))[0]?.state
  }
  /** Retries, until the deadline, to enable a projection that the server had no time to compile. */
  const compiled = async (): Promise<void> => {
    while ((await settled()) === 'uncompiled' && performance.now() < deadlineMs) {
      await server.enable(name)
      await sleep(LOOK_AGAIN_MS)
    }
  }
  if (!before.some((each) => each.name === name)) {
    await server.create(name, script)
    await compiled()
    return 'created'
  }
  await server.update(name, script)
  if (reset) {
    await settled()
    await server.reset(name)
  }
  if ((await settled()) !== 'running') await server.enable(name)
  await compiled()
  return reset ? 'reset' : 'updated'
}

async function lookUntil(
  server: ProjectionServer,
  names: readonly string[],
  {
    deadlineMs,
    isEnough,
  }: { readonly deadlineMs: number; readonly isEnough: (all: readonly ServerProjection[]) => boolean },
): Promise<readonly ServerProjection[]> {
  for (;;) {
    const all = await server.find(names)
    if (isEnough(all) || performance.now() >= deadlineMs) return all
    await sleep(LOOK_AGAIN_MS)
  }
}

/** The script's path relative to the compiled command line, as laid out by the build. */
function scriptOf({ script }: OwnProjection): string {
  try {
    return readFileSync(new URL(`../../projections/server/${script}`, import.meta.url), 'utf8')
  } catch (cause) {
    throw new CliFailure(`this installation lacks the script ${script}: build it again`, EXIT.failed, { cause })
  }
}
