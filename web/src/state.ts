// What the server sent, decoded: the page's only picture of the run. See src/lumen/viewer/scene_view.h for the
// layout of each item.
import type { Camera } from './camera';
import type { Ct, Navigation } from './ct';
export enum Kind { Info = 1, Status, Frames, Keyframes, Cloud, Edges, Picture, Truth, Coverage, Sigmas, Ct, Navigation }
export enum Status { Tracked, Weak, Lost, Relocalised, Skipped }
export enum Edge { Temporal, Local, Global }

export type Pose = { t: [number, number, number]; q: [number, number, number, number] };
export type Frame = { index: number; time: number; reference: number; logScale: number; status: Status; keyframe: boolean; pose: Pose | null };
export type Keyframe = { id: number; frame: number; submap: number; logScale: number; pose: Pose };
export type Cloud = { width: number; height: number; depth: Float32Array; rgb: Uint8Array };
export type Spot = { words: string; frame: number; middle: [number, number, number] };
export type Coverage = { version: number; words: string[]; spots: Spot[] };
export type Info = { name: string; live: boolean; finished: boolean; surface: boolean; truth_surface: boolean; pictures: boolean; features: boolean; camera?: Camera; remarks: string[]; downloads: string[] };

const FRAME_BYTES = 56, FRAMES_PER_ITEM = 128, KEYFRAME_BYTES = 44;

function readPose(view: DataView, at: number): Pose {
  const f = (i: number) => view.getFloat32(at + 4 * i, true);
  return { t: [f(0), f(1), f(2)], q: [f(3), f(4), f(5), f(6)] };
}

export class State {
  info: Info | null = null;
  status: Record<string, any> = {};
  frames: Frame[] = [];
  keyframes = new Map<number, Keyframe>();
  clouds = new Map<number, Cloud>();
  edges: [number, number, Edge, number][] = []; // two keyframes, the kind, whether taken back
  picture: { frame: number; width: number; height: number; rgb: Uint8Array } | null = null;
  truth = new Float32Array(0);
  coverage: Coverage | null = null;
  ct: Ct | null = null;
  navigation: Navigation | null = null; // where in the CT the run is
  sigmas = new Float32Array(0); // time and how far the camera may be off, by turns

  // Applies one message; says which kinds changed, and which keyframes' clouds.
  apply(buffer: ArrayBuffer): { kinds: Set<Kind>; clouds: number[] } {
    const view = new DataView(buffer);
    const kinds = new Set<Kind>(), clouds: number[] = [];
    if (view.getUint32(0, false) !== 0x4c554d31) throw new Error('not a message of this version');
    let at = 16;
    for (let n = view.getUint32(4, true); n > 0; --n) {
      const kind = view.getUint32(at, true) as Kind, id = view.getUint32(at + 4, true), size = view.getUint32(at + 8, true);
      at += 12;
      this.put(kind, id, buffer.slice(at, at + size));
      kinds.add(kind);
      if (kind === Kind.Cloud) clouds.push(id);
      at += (size + 3) & ~3;
    }
    return { kinds, clouds };
  }

  private put(kind: Kind, id: number, bytes: ArrayBuffer) {
    const view = new DataView(bytes), text = () => JSON.parse(new TextDecoder().decode(bytes));
    if (kind === Kind.Info) this.info = text();
    else if (kind === Kind.Status) this.status = text();
    else if (kind === Kind.Edges) this.edges = text();
    else if (kind === Kind.Truth) this.truth = new Float32Array(bytes);
    else if (kind === Kind.Coverage) this.coverage = text();
    else if (kind === Kind.Ct) this.ct = text();
    else if (kind === Kind.Navigation) this.navigation = text();
    else if (kind === Kind.Sigmas) this.sigmas = new Float32Array(bytes);
    else if (kind === Kind.Frames) this.putFrames(id, view);
    else if (kind === Kind.Keyframes) this.putKeyframes(view);
    else if (kind === Kind.Cloud) this.clouds.set(id, readCloud(view));
    else if (kind === Kind.Picture)
      this.picture = { frame: view.getInt32(0, true), width: view.getUint32(4, true), height: view.getUint32(8, true), rgb: new Uint8Array(bytes, 12) };
  }

  private putFrames(chunk: number, view: DataView) {
    for (let i = 0; i * FRAME_BYTES < view.byteLength; ++i) {
      const at = i * FRAME_BYTES;
      this.frames[chunk * FRAMES_PER_ITEM + i] = {
        index: view.getInt32(at, true), time: view.getFloat32(at + 4, true), reference: view.getInt32(at + 8, true),
        logScale: view.getFloat32(at + 12, true), status: view.getUint8(at + 16), keyframe: view.getUint8(at + 17) === 1,
        pose: view.getUint8(at + 18) === 1 ? readPose(view, at + 20) : null,
      };
    }
  }

  private putKeyframes(view: DataView) {
    for (let at = 0; at < view.byteLength; at += KEYFRAME_BYTES) {
      const id = view.getInt32(at, true);
      this.keyframes.set(id, { id, frame: view.getInt32(at + 4, true), submap: view.getInt32(at + 8, true), logScale: view.getFloat32(at + 12, true), pose: readPose(view, at + 16) });
    }
  }

  // The sub-map with the most keyframes: the others have nothing to do with it yet.
  mainSubmap(): number {
    const sizes = new Map<number, number>();
    for (const keyframe of this.keyframes.values()) sizes.set(keyframe.submap, (sizes.get(keyframe.submap) ?? 0) + 1);
    let best = 0, most = -1;
    for (const [submap, size] of sizes) if (size > most) [best, most] = [submap, size];
    return best;
  }

  // What joins a keyframe to others, loops first.
  connectionsOf(id: number): { to: Keyframe; kind: Edge }[] {
    const found: { to: Keyframe; kind: Edge }[] = [];
    for (const [a, b, kind, removed] of this.edges) {
      const to = a === id ? this.keyframes.get(b) : b === id ? this.keyframes.get(a) : undefined;
      if (to && !removed) found.push({ to, kind });
    }
    return found.sort((a, b) => b.kind - a.kind || a.to.frame - b.to.frame);
  }

  // Why this frame was not simply tracked, where the run has said it.
  reasonOf(frame: Frame): string {
    let reason = '';
    for (const [from, text] of (this.status.reasons ?? []) as [number, string][]) {
      if (from > frame.index) break;
      reason = text;
    }
    return reason;
  }

  // Where a frame's camera is by the present map: its keyframe may have moved and grown since.
  locate(frame: Frame): Pose | null {
    if (!frame.pose) return null;
    if (frame.reference < 0) return frame.pose;
    const keyframe = this.keyframes.get(frame.reference);
    if (!keyframe) return null;
    const growth = Math.exp(keyframe.logScale - frame.logScale);
    const [x, y, z] = frame.pose.t;
    const moved = rotate(keyframe.pose.q, [growth * x, growth * y, growth * z]);
    return { t: [keyframe.pose.t[0] + moved[0], keyframe.pose.t[1] + moved[1], keyframe.pose.t[2] + moved[2]], q: multiply(keyframe.pose.q, frame.pose.q) };
  }

  // How far a frame's place may be off; -1: not told.
  sigmaOf(frame: Frame): number {
    let low = 0, high = this.sigmas.length / 2 - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sigmas[2 * middle] < frame.time - 1e-3) low = middle + 1;
      else high = middle;
    }
    return high >= 0 && Math.abs(this.sigmas[2 * low] - frame.time) < 2e-3 ? this.sigmas[2 * low + 1] : -1;
  }

  // The keyframe whose depth shows best what this frame sees: its reference, or the last one before it.
  keyframeOf(frame: Frame): Keyframe | null {
    if (frame.reference >= 0) return this.keyframes.get(frame.reference) ?? null;
    let best: Keyframe | null = null;
    for (const keyframe of this.keyframes.values())
      if (this.clouds.has(keyframe.id) && (!best || Math.abs(keyframe.frame - frame.index) < Math.abs(best.frame - frame.index))) best = keyframe;
    return best;
  }
}

function readCloud(view: DataView): Cloud {
  const width = view.getUint32(0, true), height = view.getUint32(4, true), unit = view.getFloat32(8, true);
  const depth = new Float32Array(width * height);
  for (let i = 0; i < depth.length; ++i) depth[i] = unit * view.getUint16(12 + 2 * i, true);
  return { width, height, depth, rgb: new Uint8Array(view.buffer, 12 + 2 * depth.length, 3 * depth.length) };
}

export function rotate(q: Pose['q'], v: [number, number, number]): [number, number, number] {
  const [x, y, z, w] = q;
  const tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
  return [v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx];
}
export function multiply(a: Pose['q'], b: Pose['q']): Pose['q'] {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
}
