// Where a run is in the patient's CT: numbers only, no drawing. Places are LPS, in millimetres.
import { multiply, Pose, rotate } from './state';

export type Place = [number, number, number];
export type Target = { name: string; place: Place };
// The volume cut along the patient's axes: plane k of an axis lies at low + k step.
export type Slices = { low: Place; step: number; size: Place };
export type Ct = { name?: string; wall?: number; slices?: Slices | null; targets?: Target[] };
export type Similarity = { scale: number; q: Pose['q']; t: Place; submap: number; number: number };
export type Navigation = { status: string; words: string; surface?: number; ct_from_map?: Similarity | null };

export enum Axis { Sagittal, Coronal, Axial }
export const AXES = ['sagittal', 'coronal', 'axial'] as const;
// The patient's axes across and down a slice; superior is up, so that axis is turned round.
const SPANS: [number, number][] = [[1, 2], [0, 2], [0, 1]];
// What lies at a slice's left, right, top and bottom.
export const EDGES = [['A', 'P', 'S', 'I'], ['R', 'L', 'S', 'I'], ['R', 'L', 'A', 'P']];

// A camera of the map, in the CT: its centre by the whole similarity, its direction by the rotation.
export function poseInCt(ctFromMap: Similarity, pose: Pose): Pose {
  const turned = rotate(ctFromMap.q, pose.t);
  return { t: [0, 1, 2].map((i) => ctFromMap.scale * turned[i] + ctFromMap.t[i]) as Place, q: multiply(ctFromMap.q, pose.q) };
}

// A place whose status is anything but "registered" is none.
export function placeOf(navigation: Navigation | null, submap: number): Similarity | null {
  const similarity = navigation?.status === 'registered' ? navigation.ct_from_map ?? null : null;
  return similarity && (similarity.submap < 0 || submap < 0 || similarity.submap === submap) ? similarity : null;
}

export type OnSlice = { plane: number; u: number; v: number; inside: boolean };
// Which plane a place lies nearest to, and its pixel there.
export function onSlice(slices: Slices, axis: Axis, place: Place): OnSlice {
  const at = [0, 1, 2].map((i) => (place[i] - slices.low[i]) / slices.step), [across, down] = SPANS[axis];
  const plane = Math.round(at[axis]), inside = at.every((value, i) => value > -0.5 && value < slices.size[i] - 0.5);
  return { plane: Math.min(slices.size[axis] - 1, Math.max(0, plane)), u: at[across], v: down === 2 ? slices.size[2] - 1 - at[down] : at[down], inside };
}

// The place of a pixel: the other way round.
export function placeOn(slices: Slices, axis: Axis, plane: number, u: number, v: number): Place {
  const at: Place = [0, 0, 0], [across, down] = SPANS[axis];
  at[axis] = plane;
  at[across] = u;
  at[down] = down === 2 ? slices.size[2] - 1 - v : v;
  return at.map((value, i) => slices.low[i] + value * slices.step) as Place;
}
export function sizeOf(slices: Slices, axis: Axis): [number, number] {
  return [slices.size[SPANS[axis][0]], slices.size[SPANS[axis][1]]];
}
// A direction as a slice shows it.
export function alongSlice(axis: Axis, direction: Place): [number, number] {
  const [across, down] = SPANS[axis];
  return [direction[across], down === 2 ? -direction[down] : direction[down]];
}
export function middleOf(slices: Slices): Place {
  return [0, 1, 2].map((i) => slices.low[i] + (slices.step * (slices.size[i] - 1)) / 2) as Place;
}

export function distance(a: Place, b: Place): number { return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }
// Straight through, the nearest first; in their own order as long as it is not known where the scope is.
export function byDistance(targets: Target[], tip: Place | null): { target: Target; mm: number | null }[] {
  const all = targets.map((target) => ({ target, mm: tip && distance(target.place, tip) }));
  return tip ? all.sort((a, b) => a.mm! - b.mm!) : all;
}

export function inWords(place: Place): string {
  const one = (value: number, plus: string, minus: string) => `${value < 0 ? minus : plus} ${Math.abs(value).toFixed(0)}`;
  return `${one(place[0], 'L', 'R')}, ${one(place[1], 'P', 'A')}, ${one(place[2], 'S', 'I')} mm`;
}

// What the server takes for a hint.
export function hintOf(place: Place): string { return JSON.stringify({ start: place.map((value) => Math.round(10 * value) / 10) }); }
