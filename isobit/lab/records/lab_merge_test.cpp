// Labs into one another, and whose the records are.
#include "isobit/lab/records/lab_folder_for_test.h"

namespace isobit::lab::records {
namespace {

using LabMergeTest = LabFolder;

TEST_F(LabMergeTest, MergingTwiceAddsOnce) {
  make_example();
  const fs::path other_path = folder_ / "b.lab";
  auto lab = LabFile::open(path_, LabFile::Mode::kWrite);
  auto other = LabFile::create(other_path);
  ASSERT_TRUE(other->add_run(example_run(5)));
  const auto first = other->merge(*lab);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->runs_added, 2u);
  EXPECT_EQ(first->tensors_added, 1u);
  const auto second = other->merge(*lab);
  EXPECT_EQ(second->runs_added, 0u);
  EXPECT_EQ(second->runs_known, 2u);
  EXPECT_EQ(second->tensors_added, 0u);
  EXPECT_EQ(other->runs(example_run(0).subject)->size(), 3u);
  EXPECT_EQ(other->graph(example_run(0).subject).value(), example_graph());
}

TEST_F(LabMergeTest, AnExportIsTheSameLab) {
  make_example();
  const fs::path out = folder_ / "out.lab";
  auto lab = LabFile::open(path_, LabFile::Mode::kRead);
  const Status done = lab->export_to(out, false);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(lab->export_to(out));
  auto copy = LabFile::open(out, LabFile::Mode::kRead);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(copy->runs(example_run(0).subject).value(), lab->runs(example_run(0).subject).value());
  EXPECT_TRUE(copy->kept()->empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(LabMergeTest, TwoThatBeginOneLabAtOnceBothCome) {
  const auto add = [](int number) { return [=](LabFile& lab) { return lab.add_run(example_run(number)); }; };
  const Status done = LabFile::extend(path_, [&](LabFile& lab) -> Status {
    EXPECT_TRUE(LabFile::extend(path_, add(1)));  // somebody else, who is faster
    return add(0)(lab);
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(LabFile::open(path_, LabFile::Mode::kRead)->runs(example_run(0).subject)->size(), 2u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(LabMergeTest, TwoGraphsOfOneModelAreTold) {
  make_example();
  auto lab = LabFile::open(path_, LabFile::Mode::kWrite);
  auto other = LabFile::create(folder_ / "b.lab");
  const Subject subject = example_run(0).subject;
  ASSERT_TRUE(other->set_graph(subject, example_graph()));
  EXPECT_TRUE(lab->merge(*other)->other_graphs.empty());
  ASSERT_TRUE(other->set_graph(subject, {{"Relu", "innocent", {"x"}, {"out"}}}));
  EXPECT_EQ(lab->merge(*other)->other_graphs, std::vector<Subject>{subject});
  EXPECT_EQ(lab->graph(subject).value(), example_graph());
}

TEST_F(LabMergeTest, OnlyWhatWasMeasuredIntoALabIsItsOwn) {
  auto lab = LabFile::create(path_);
  EXPECT_TRUE(lab->own_runs()->empty());
  const auto own = [](int number) { return digest_of(example_run(number)); };
  ASSERT_TRUE(lab->add_run(example_run(0), Whose::kOwn));
  ASSERT_TRUE(lab->add_run(example_run(1)));
  EXPECT_EQ(lab->own_runs().value(), std::set{own(0)});
  // A merge gives it no more, and keeps what it has.
  auto other = LabFile::create(folder_ / "b.lab");
  ASSERT_TRUE(other->add_run(example_run(0), Whose::kOwn));
  ASSERT_TRUE(other->add_run(example_run(2), Whose::kOwn));
  ASSERT_TRUE(lab->merge(*other));
  EXPECT_EQ(lab->runs(example_run(0).subject)->size(), 3u);
  EXPECT_EQ(lab->own_runs().value(), std::set{own(0)});
  ASSERT_TRUE(lab->add_run(example_run(2), Whose::kOwn));  // measured here now
  EXPECT_EQ(lab->own_runs().value(), (std::set{own(0), own(2)}));
  EXPECT_EQ(LabFile::open(path_, LabFile::Mode::kRead)->own_runs().value(), lab->own_runs().value());
  ASSERT_TRUE(lab->export_to(folder_ / "sent.lab"));
  EXPECT_TRUE(LabFile::open(folder_ / "sent.lab", LabFile::Mode::kRead)->own_runs()->empty());
}

}  // namespace
}  // namespace isobit::lab::records
