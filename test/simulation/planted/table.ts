import type { Patch } from '../search/bundle.ts'
export interface PlantedBug { readonly name: string; readonly patches: readonly Patch[] }
export const PLANTED: readonly PlantedBug[] = []
