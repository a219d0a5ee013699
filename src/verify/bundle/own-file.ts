/** @module The file that bundles hold, and its earlier versions. */
import * as fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sha256 } from './hashes.ts'

/** SHA-256 of earlier versions of this file: bundles that they stand in are as good. The report that the first of them made says less. */
export const FIRST_VERIFIER = 'f05494d92a666b4dc482364ce7d6c14a2f45bdd5c909c23f71827ba935205ce9'
export const EARLIER_VERIFIERS = [
  FIRST_VERIFIER,
  'bfcf851cf177b881c291c794323d506d13fafe645098a79879a4996a67d4ae36',
  'b2d78dcecc112ad017f97c081fe5f957276a1dc95b3fd5a65127d0138b425abe',
  'e4911201ff63c1838f34975ea77a0ab4d6920b38dc781f53e55f92e7c53640a2',
  '9c945563c6e648223ebed110e6435de9a99cc58f04e21049c5d7bb3a6e9b7424',
  '4ef86e220e457c9fabc45ba0d72b639f784ed46ad4c26cd91e258b66a7fba5de',
  '6a1175ef61b2f95dffd98cc0604e7df3a66050fa6ea552f0577dd28a63d3da27',
  '1367d7fe0982ff98a40086d1daf035687574fbd1797a3966c7c2c97c9dc4a14b',
  'ddd13da1fdaa5f5faa8d9bd9534422c016406f87cb2fe8ab53522e43cd022519',
  '3c08ffe4b0ac12e3f6edb363a6c6b944bed946e4b3e3e0124964d64d76016639',
  '772178a6577900ad8b60064bec976eb9ae53f0660a71a5338810b79638953fca',
]

/** Where the file is; within it, scripts/build-verifier.mjs writes that it is the one that runs. */
export const VERIFIER_FILE = new URL('./verify.mjs', import.meta.url)

let known: string | undefined
export const ownDigest = (): string => {
  known ??= sha256(fs.readFileSync(fileURLToPath(VERIFIER_FILE))).toString('hex')
  return known
}
